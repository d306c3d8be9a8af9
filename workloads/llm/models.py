"""Models of the shapes with random weights, made on their device."""

from .shapes import SHAPES


def causal_model(given, longest, attention):
    """`given` has model, layers, device and seed; `longest`: tokens of prompt and answer."""
    import torch
    import transformers

    torch.manual_seed(given.seed)
    config_class, model_class, shape = SHAPES[given.model]
    shape = {**shape, "max_position_embeddings": longest}
    if given.layers:
        shape["num_hidden_layers"] = given.layers
    config = getattr(transformers, config_class)(**shape, attn_implementation=attention)
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32 if given.device == "cpu" else torch.bfloat16)
    try:
        with torch.device(given.device):
            return getattr(transformers, model_class)(config).eval()
    finally:
        torch.set_default_dtype(before)
