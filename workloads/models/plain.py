"""Facts about our sequences for transformers: they are neither packed nor padded.

Decoders look for themselves otherwise, which reads the GPU in each forward pass, so that the CPU would
never be ahead; and in the capture of a CUDA graph, where nobody can look, they build a mask that masks
nothing. Can go when transformers can be told.
"""

from transformers import masking_utils


def tell():
    masking_utils.find_packed_sequence_indices = lambda position_ids: None
    masking_utils.fast_all = lambda mask: True
    masking_utils.is_tracing = lambda tensor=None: False
