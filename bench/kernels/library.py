"""Which library does a kernel come from? Judged by its name, since a profile says no more.

Looked for among the libraries that this process has loaded, after it has run the kernels: those are the
files they came from.
"""

import os
import re

# A pattern in a kernel's name, and how the files are called that such kernels are in. The first that fits.
BY_NAME = (
    (r"^triton_", ("triton",)),
    (r"at::native|at_cuda_detail|c10::|pytorch_flash|fmha_cutlass|multi_tensor", ("libtorch_cuda",)),
    (r"cudnn|fprop|dgrad|wgrad|implicit_(gemm|convolve)|winograd|nchwToNhwc|nhwcToNchw", ("libcudnn",)),
    (r"^nvjet_|^sm\d+_|^ampere_|^volta_|^turing_|cublas|cutlass|gemv|splitKreduce", ("libcublas",)),
    (r"nccl", ("libnccl",)),
    (r"cufft", ("libcufft",)),
    (r"^void \(anonymous namespace\)|^void cub::|softmax|layer_norm|vectorized", ("libtorch_cuda",)),
)


def prefixes_of(kernel):
    """How the files begin that may hold it; nothing if the name says nothing."""
    for pattern, prefixes in BY_NAME:
        if re.search(pattern, kernel):
            return prefixes
    return ()


def loaded(maps="/proc/self/maps"):
    """Files of shared libraries in this process."""
    paths = set()
    with open(maps, encoding="utf-8", errors="replace") as file:
        for line in file:
            columns = line.split(maxsplit=5)
            if len(columns) == 6 and ".so" in columns[5]:
                paths.add(columns[5].rstrip("\n"))
    return sorted(path for path in paths if os.path.isfile(path))


def files_of(prefixes, paths):
    return [path for path in paths if os.path.basename(path).startswith(tuple(prefixes))]
