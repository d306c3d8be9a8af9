"""The models measured, with random weights made from their configurations: nothing is downloaded."""

import torch
from torch import nn

DTYPES = {"bf16": torch.bfloat16, "fp32": torch.float32}
VOCABULARY = {"bert-large": 30522, "gpt2-large": 50257}


def bert_large():
    from transformers import BertConfig, BertForQuestionAnswering

    config = BertConfig(
        vocab_size=VOCABULARY["bert-large"],
        hidden_size=1024,
        num_hidden_layers=24,
        num_attention_heads=16,
        intermediate_size=4096,
    )
    return BertForQuestionAnswering(config)


def gpt2_large():
    from transformers import GPT2Config, GPT2LMHeadModel, masking_utils

    # Our sequences are not packed. Looking whether they are reads the GPU in each forward pass, and the CPU
    # would never be ahead. Can go when transformers can be told.
    masking_utils.find_packed_sequence_indices = lambda position_ids: None
    config = GPT2Config(
        vocab_size=VOCABULARY["gpt2-large"], n_positions=1024, n_embd=1280, n_layer=36, n_head=20
    )
    return GPT2LMHeadModel(config)


def resnet50():
    from torchvision.models import resnet50 as build

    return build(weights=None)


def tokens(model, batch, length, generator):
    return torch.randint(0, VOCABULARY[model], (batch, length), generator=generator)


def images(batch, generator, dtype=torch.float32):
    return torch.randn(batch, 3, 224, 224, generator=generator).to(dtype)


class Inference(nn.Module):
    """One tensor in, one tensor out, whatever the model calls them."""

    def __init__(self, name):
        super().__init__()
        self.name = name
        self.model = {"bert-large": bert_large, "resnet50": resnet50}[name]()

    def forward(self, given):
        if self.name == "resnet50":
            return self.model(given)
        answer = self.model(input_ids=given)
        return torch.stack((answer.start_logits, answer.end_logits))


class Training(nn.Module):
    """A batch in, its loss out."""

    def __init__(self, name):
        super().__init__()
        self.name = name
        build = {"gpt2-large": gpt2_large, "resnet50": resnet50, "bert-large": bert_large}[name]
        self.model = build()

    def forward(self, *batch):
        if self.name == "gpt2-large":
            (ids,) = batch
            return self.model(input_ids=ids, labels=ids, use_cache=False).loss
        if self.name == "bert-large":
            ids, starts, ends = batch
            return self.model(input_ids=ids, start_positions=starts, end_positions=ends).loss
        pictures, labels = batch
        return nn.functional.cross_entropy(self.model(pictures).float(), labels)


def training_batch(name, batch, length, generator):
    """A batch of random data on the CPU."""
    if name == "gpt2-large":
        return (tokens(name, batch, length, generator),)
    if name == "bert-large":
        positions = [torch.randint(0, length, (batch,), generator=generator) for _ in range(2)]
        return (tokens(name, batch, length, generator), *positions)
    return (images(batch, generator), torch.randint(0, 1000, (batch,), generator=generator))
