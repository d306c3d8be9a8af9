"""Latency-critical inference in JAX: a jitted multi-layer perceptron; see serving.py for how requests come.

A request is: the batch to the GPU, the network, wait, the answer to the host.
"""

import os
import sys

import serving
from check import Parser

INPUTS = 20


def options():
    parser = Parser("jax_serve.py", __doc__)
    add = parser.add_argument
    add("--batch", type=int, default=32)
    add("--width", type=int, default=4096)
    add("--layers", type=int, default=8)
    add("--dtype", choices=["bf16", "fp32"], default="bf16")
    serving.add_options(parser, "jax-serve")
    given = parser.parse_args()
    serving.validate(parser, given)
    return parser.checked(given, ("jax", "jaxlib", "numpy"))


def service(given):
    """serve(i), and the bytes it keeps on the GPU."""
    # It would take three quarters of the memory.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax
    import jax.numpy as jnp
    import numpy

    if jax.default_backend() != "gpu":
        sys.exit(f"jax_serve.py: JAX runs on {jax.default_backend()}, not on the GPU")
    dtype = jnp.bfloat16 if given.dtype == "bf16" else jnp.float32
    keys = jax.random.split(jax.random.key(given.seed), given.layers)
    size = (given.width, given.width)
    weights = [jax.random.normal(key, size, dtype) * given.width**-0.5 for key in keys]
    chance = numpy.random.default_rng(given.seed)
    inputs = [chance.standard_normal((given.batch, given.width), dtype=numpy.float32) for _ in range(INPUTS)]

    @jax.jit
    def apply(weights, x):
        x = x.astype(dtype)
        for weight in weights:
            x = jax.nn.gelu(x @ weight) + x
        return x.astype(jnp.float32)

    def serve(request):
        answer = apply(weights, jax.device_put(inputs[request % INPUTS]))
        answer.block_until_ready()
        numpy.asarray(answer)

    serving.warm_up(serve)
    memory = jax.local_devices()[0].memory_stats() or {}
    return serve, memory.get("bytes_in_use", 0)


def main():
    given = options()
    serve, memory = service(given)
    facts = {
        "label": f"jax mlp {given.batch} x {given.width} x {given.layers} {given.dtype}",
        "model": "mlp",
        "form": "jit",
        "batch": given.batch,
        "dtype": given.dtype,
        "memory_bytes": memory,
    }
    print(f"{facts['label']} ready", file=sys.stderr, flush=True)
    serving.run(serve, given, facts)


if __name__ == "__main__":
    main()
