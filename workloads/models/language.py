"""Language models of transformers: BERT answers questions, the GPTs continue a prompt by one token."""

import torch
from torch.nn.functional import scaled_dot_product_attention
from transformers import (
    BertConfig,
    BertForQuestionAnswering,
    GPT2Config,
    GPT2LMHeadModel,
    GPTNeoConfig,
    GPTNeoForCausalLM,
)
from transformers.models.gpt_neo import modeling_gpt_neo

from models import plain
from models.called import Called

VOCABULARY = {"bert-base": 30522, "bert-large": 30522, "gpt2-large": 50257, "gpt-neo-2.7b": 50257}


def bert(**sizes):
    return BertForQuestionAnswering(BertConfig(vocab_size=30522, **sizes))


def bert_base():
    return bert()


def bert_large():
    return bert(hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096)


def gpt2_large():
    config = GPT2Config(vocab_size=50257, n_positions=1024, n_embd=1280, n_layer=36, n_head=20)
    model = GPT2LMHeadModel(config)
    # The default, which it takes with a warning if it is not stated.
    model.loss_type = "ForCausalLM"
    return model


def gpt_neo():
    modeling_gpt_neo.GPTNeoSelfAttention._attn = attend
    config = GPTNeoConfig(
        vocab_size=50257,
        max_position_embeddings=2048,
        hidden_size=2560,
        num_layers=32,
        num_heads=20,
        attention_types=[[["global", "local"], 16]],
        window_size=256,
        attn_implementation="eager",
    )
    return GPTNeoForCausalLM(config)


def attend(self, query, key, value, attention_mask=None, head_mask=None):
    """GPT-Neo's attention, unscaled as there, in one kernel. Transformers' own copies a number to the GPU
    in each layer, for which the CPU waits and which a CUDA graph cannot hold."""
    asked, known = query.size(-2), key.size(-2)
    seen = self.bias[:, :, known - asked : known, :known]
    return scaled_dot_product_attention(query, key, value, attn_mask=seen, scale=1.0), None


BUILDERS = {
    "bert-base": bert_base,
    "bert-large": bert_large,
    "gpt2-large": gpt2_large,
    "gpt-neo-2.7b": gpt_neo,
}


def made(name):
    # BERT looks at nothing by itself; in a captured graph it builds a mask, as it does for everybody.
    if not name.startswith("bert"):
        plain.tell()
    return BUILDERS[name]()


def tokens(name, shape, generator):
    return torch.randint(0, VOCABULARY[name], (shape.batch, shape.sequence), generator=generator)


def answer_span(model, ids):
    answer = model(input_ids=ids)
    return torch.stack((answer.start_logits, answer.end_logits))


def next_token(model, ids):
    return model(input_ids=ids, use_cache=False, logits_to_keep=1).logits[:, -1]


def span_loss(model, ids, starts, ends):
    return model(input_ids=ids, start_positions=starts, end_positions=ends).loss


def next_token_loss(model, ids):
    return model(input_ids=ids, labels=ids, use_cache=False).loss


def inference(name, shape):
    def example(generator):
        return tokens(name, shape, generator)

    model = made(name)
    if name.startswith("bert"):
        return Called(model, answer_span), example
    if name != "gpt-neo-2.7b":
        return Called(model, next_token), example
    # A mask of four dimensions is taken as it is, and not built anew from a number copied to the GPU.
    nothing_masked = torch.zeros(1, 1, 1, 1)

    def neo_next_token(model, ids):
        masked = {"attention_mask": nothing_masked}
        return model(input_ids=ids, use_cache=False, logits_to_keep=1, **masked).logits[:, -1]

    return Called(model, neo_next_token), example


def training(name, shape):
    def batch(generator):
        ids = tokens(name, shape, generator)
        if not name.startswith("bert"):
            return (ids,)
        ends = [torch.randint(0, shape.sequence, (shape.batch,), generator=generator) for _ in "se"]
        return (ids, *ends)

    return Called(made(name), span_loss if name.startswith("bert") else next_token_loss), batch
