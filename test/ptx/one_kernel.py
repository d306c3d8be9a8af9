"""Compiles one kernel: one_kernel.py FOLDER ARCHITECTURE writes its machine code to FOLDER/ARCHITECTURE.cubin."""

import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def add_one(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) + 1, mask=i < n)


arch = sys.argv[2]
source = ASTSource(
    fn=add_one,
    signature={"x": "*fp32", "y": "*fp32", "n": "i32", "BLOCK": "constexpr"},
    constexprs={"BLOCK": 256},
)
made = triton.compile(source, target=GPUTarget("cuda", int(arch), 32))
with open(f"{sys.argv[1]}/{arch}.cubin", "wb") as file:
    file.write(made.asm["cubin"])
