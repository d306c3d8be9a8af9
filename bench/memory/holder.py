"""A program that holds GPU memory in blocks of several sizes, works on it, and says whether its content is unchanged.

Orders on stdin, one a line; each is answered by a row of JSON with its word:
  work    from now on multiplies matrices (or fills memory, without PyTorch) back to back
  rest    stops that
  check   the checksum of all blocks, and how many steps of work there were
  grow N  allocates N MiB more, timed
  step    one step of work, timed
The end of stdin ends the program. With --driver it needs no PyTorch: the driver's own functions, for the software GPU.
"""

import argparse
import ctypes
import json
import os
import select
import sys
import time

MIB = 2**20
# In turn; PyTorch gives tensors of these sizes memory of their own.
SIZES_MIB = (20, 64, 250, 1024)


class Torch:
    def __init__(self):
        import torch

        self.torch = torch
        self.blocks = []
        self.chance = torch.Generator("cuda").manual_seed(1)
        self.factors = [torch.randn(4096, 4096, dtype=torch.bfloat16, device="cuda") for _ in range(2)]
        self.product = torch.empty_like(self.factors[0])

    def add(self, mib):
        torch = self.torch
        block = torch.empty(mib * MIB // 4, dtype=torch.int32, device="cuda")
        block.random_(generator=self.chance)
        torch.cuda.synchronize()
        self.blocks.append(block)

    def step(self):
        for _ in range(10):
            self.torch.matmul(*self.factors, out=self.product)
        self.torch.cuda.synchronize()

    def checksum(self):
        """Over every word and its place, in whole numbers of 64 bits that wrap."""
        torch, total = self.torch, 0
        for number, block in enumerate(self.blocks):
            for start in range(0, len(block), 1 << 24):
                words = block[start : start + (1 << 24)].to(torch.int64)
                place = torch.arange(start, start + len(words), device="cuda")
                total += int((words * (2 * place + 1)).sum().item()) * (2 * number + 1)
        return f"{total % 2**64:016x}"


class Driver:
    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        context = ctypes.c_void_p()
        self._do("cuInit", 0)
        self._do("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self._do("cuCtxSetCurrent", context)
        self.blocks = []
        self.scratch = self._allocate(1)

    def _do(self, name, *arguments):
        result = getattr(self.cuda, name)(*arguments)
        if result != 0:
            raise MemoryError(f"{name}: error {result}")

    def _allocate(self, mib):
        made = ctypes.c_uint64()
        self._do("cuMemAlloc_v2", ctypes.byref(made), ctypes.c_size_t(mib * MIB))
        return made

    def add(self, mib):
        made = self._allocate(mib)
        for part in range(mib):
            self._do(
                "cuMemsetD32_v2",
                ctypes.c_uint64(made.value + part * MIB),
                len(self.blocks) << 16 | part,
                ctypes.c_size_t(MIB // 4),
            )
        self.blocks.append((made, mib))

    def step(self):
        self._do("cuMemsetD32_v2", self.scratch, 7, ctypes.c_size_t(MIB // 4))
        self._do("cuCtxSynchronize")
        time.sleep(0.001)

    def checksum(self):
        import zlib

        total, part = 0, ctypes.create_string_buffer(MIB)
        for made, mib in self.blocks:
            for at in range(mib):
                self._do("cuMemcpyDtoH_v2", part, ctypes.c_uint64(made.value + at * MIB), ctypes.c_size_t(MIB))
                total = zlib.crc32(part.raw, total)
        return f"{total:08x}"


def answer(word, **figures):
    print(json.dumps({"said": word, **figures}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gib", type=float, default=1.0)
    parser.add_argument("--driver", action="store_true")
    parser.add_argument("--count", metavar="FILE", help="keeps the number of steps in it")
    given = parser.parse_args()
    count = os.open(given.count, os.O_WRONLY | os.O_CREAT, 0o600) if given.count else None
    began = time.monotonic()
    memory = Driver() if given.driver else Torch()
    left = int(given.gib * 1024)
    while left > 0:
        size = min(left, SIZES_MIB[len(memory.blocks) % len(SIZES_MIB)])
        memory.add(size)
        left -= size
    answer("ready", seconds=time.monotonic() - began, blocks=len(memory.blocks))
    steps, works, said = 0, False, []
    while True:
        if not works or select.select([sys.stdin], [], [], 0)[0]:
            line = sys.stdin.readline()
            if not line:
                return
            word, *rest = line.split()
            if word == "check":
                answer(word, sum=memory.checksum(), steps=steps, **({"longestMs": max(said)} if said else {}))
                said = []
            elif word == "grow":
                at = time.monotonic_ns()
                memory.add(int(rest[0]))
                answer(word, ms=(time.monotonic_ns() - at) / 1e6)
            elif word == "step":
                at = time.monotonic_ns()
                memory.step()
                answer(word, ms=(time.monotonic_ns() - at) / 1e6)
            else:
                works = word == "work"
                answer(word, steps=steps)
        else:
            at = time.monotonic_ns()
            memory.step()
            said.append((time.monotonic_ns() - at) / 1e6)
            steps += 1
            if count is not None:
                os.pwrite(count, b"%20d" % steps, 0)


if __name__ == "__main__":
    main()
