"""Results that can be compared bit for bit between two runs."""

import hashlib
import os


def make_exact(seed):
    """Call before the first CUDA call. Operations that have no deterministic form only warn."""
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    import torch

    torch.use_deterministic_algorithms(True, warn_only=True)
    # Only the plain attention kernel has a backward pass that adds in a fixed order.
    torch.backends.cuda.enable_flash_sdp(False)
    torch.backends.cuda.enable_mem_efficient_sdp(False)
    torch.backends.cuda.enable_cudnn_sdp(False)
    # Otherwise every empty tensor would be filled first: kernels that the real program doesn't have.
    torch.utils.deterministic.fill_uninitialized_memory = False
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.deterministic = True
    torch.manual_seed(seed)


def digest(tensors):
    """SHA-256 over the bytes of the tensors, in order."""
    import torch

    sha = hashlib.sha256()
    for tensor in tensors:
        flat = tensor.detach().cpu().contiguous().reshape(-1)
        sha.update(flat.view(torch.uint8).numpy().tobytes())
    return sha.hexdigest()
