"""Encoder-decoder models of transformers: Whisper hears 30 s of sound, PEGASUS reads a text. One request is
the encoder and the decoder's first step."""

import torch
from transformers import (
    PegasusConfig,
    PegasusForConditionalGeneration,
    WhisperConfig,
    WhisperForConditionalGeneration,
)

from models import plain
from models.called import Called

# Whisper large-v3 and PEGASUS-large. Sound is 128 features every 10 ms.
VOCABULARY = {"whisper-large": 51866, "pegasus-large": 96103}
SOUND = (128, 3000)


def whisper():
    return WhisperForConditionalGeneration(
        WhisperConfig(
            vocab_size=51866,
            num_mel_bins=128,
            d_model=1280,
            encoder_layers=32,
            decoder_layers=32,
            encoder_attention_heads=20,
            decoder_attention_heads=20,
            encoder_ffn_dim=5120,
            decoder_ffn_dim=5120,
        )
    )


def pegasus():
    return PegasusForConditionalGeneration(
        PegasusConfig(
            vocab_size=96103,
            d_model=1024,
            encoder_layers=16,
            decoder_layers=16,
            encoder_attention_heads=16,
            decoder_attention_heads=16,
            encoder_ffn_dim=4096,
            decoder_ffn_dim=4096,
            activation_function="relu",
            scale_embedding=True,
        )
    )


def made(name):
    plain.tell()
    return whisper() if name == "whisper-large" else pegasus()


def asked(name, shape, generator):
    """Inputs of the encoder."""
    if name == "whisper-large":
        return torch.randn(shape.batch, *SOUND, generator=generator)
    return tokens(name, shape, generator)


def tokens(name, shape, generator):
    return torch.randint(2, VOCABULARY[name], (shape.batch, shape.sequence), generator=generator)


def inference(name, shape):
    def example(generator):
        return asked(name, shape, generator)

    model = made(name)
    first = torch.full((shape.batch, 1), model.config.decoder_start_token_id, dtype=torch.long)

    def first_step(model, given):
        return model(given, decoder_input_ids=first, use_cache=False).logits[:, -1]

    return Called(model, first_step), example


def training(name, shape):
    def batch(generator):
        return asked(name, shape, generator), tokens(name, shape, generator)

    def loss_of(model, given, labels):
        return model(given, labels=labels, use_cache=False).loss

    return Called(made(name), loss_of), batch
