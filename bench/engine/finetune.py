"""Fine-tunes a language model as transformers' own examples do: gradient checkpointing, autocast to bf16, AdamW, the loss
read after each step. Weights and texts are random. Prints "<monotonic ns> step <steps so far> loss <loss>" after each step.
"""

import argparse
import time

import torch
from transformers import BertConfig, BertForMaskedLM, GPT2Config, GPT2LMHeadModel

MODELS = {
    "gpt2-medium": lambda: GPT2LMHeadModel(GPT2Config(n_embd=1024, n_layer=24, n_head=16)),
    "bert-large": lambda: BertForMaskedLM(
        BertConfig(hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096)
    ),
}
BATCH, TOKENS = 8, 512


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--model", choices=MODELS, default="gpt2-medium")
    options = arguments.parse_args()
    torch.manual_seed(1)
    model = MODELS[options.model]().cuda().train()
    model.gradient_checkpointing_enable()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    step = 0
    while True:
        texts = torch.randint(model.config.vocab_size, (BATCH, TOKENS), device="cuda")
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(input_ids=texts, labels=texts).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        step += 1
        print(f"{time.monotonic_ns()} step {step} loss {loss.item():.4f}", flush=True)


if __name__ == "__main__":
    main()
