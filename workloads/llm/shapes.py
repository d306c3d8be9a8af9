"""The shapes of the models that are served, with random weights: values of their published config.json."""

# Name → configuration class and model class of transformers, and what differs from the class's defaults.
SHAPES = {
    "llama-3.2-1b": (
        "LlamaConfig",
        "LlamaForCausalLM",
        {
            "vocab_size": 128_256,
            "hidden_size": 2048,
            "intermediate_size": 8192,
            "num_hidden_layers": 16,
            "num_attention_heads": 32,
            "num_key_value_heads": 8,
            "head_dim": 64,
            "tie_word_embeddings": True,
        },
    ),
    "llama-3.1-8b": (
        "LlamaConfig",
        "LlamaForCausalLM",
        {
            "vocab_size": 128_256,
            "hidden_size": 4096,
            "intermediate_size": 14_336,
            "num_hidden_layers": 32,
            "num_attention_heads": 32,
            "num_key_value_heads": 8,
            "head_dim": 128,
        },
    ),
    "qwen3-8b": (
        "Qwen3Config",
        "Qwen3ForCausalLM",
        {
            "vocab_size": 151_936,
            "hidden_size": 4096,
            "intermediate_size": 12_288,
            "num_hidden_layers": 36,
            "num_attention_heads": 32,
            "num_key_value_heads": 8,
            "head_dim": 128,
        },
    ),
    # A mixture of experts: 8 of 128 are active.
    "qwen3-30b-a3b": (
        "Qwen3MoeConfig",
        "Qwen3MoeForCausalLM",
        {
            "vocab_size": 151_936,
            "hidden_size": 2048,
            "intermediate_size": 6144,
            "moe_intermediate_size": 768,
            "num_hidden_layers": 48,
            "num_attention_heads": 32,
            "num_key_value_heads": 4,
            "head_dim": 128,
            "num_experts": 128,
            "num_experts_per_tok": 8,
            "norm_topk_prob": True,
        },
    ),
    # For a look at the server on a CPU.
    "tiny": (
        "LlamaConfig",
        "LlamaForCausalLM",
        {
            "vocab_size": 32_000,
            "hidden_size": 64,
            "intermediate_size": 128,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "head_dim": 16,
        },
    ),
}
