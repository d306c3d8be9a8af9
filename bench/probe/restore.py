"""Effects of the driver's checkpoint on a program that calls it on itself: idle and working, with pairs of GPUs, and, with --full, when
another process has taken its place. restore.py [--full]; rows of JSON. Needs PyTorch, and two GPUs for the pairs."""

import ctypes
import json
import os
import subprocess
import sys
import threading
import time


class Lock(ctypes.Structure):
    _fields_ = [("timeout_ms", ctypes.c_uint), ("zeros", ctypes.c_byte * 60)]


class Pair(ctypes.Structure):
    _fields_ = [("old", ctypes.c_byte * 16), ("new", ctypes.c_byte * 16)]


class Restore(ctypes.Structure):
    _fields_ = [("pairs", ctypes.c_void_p), ("count", ctypes.c_uint), ("zeros", ctypes.c_byte * 52)]


def row(**figures):
    print(json.dumps(figures), flush=True)


def smi(query):
    command = ["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader,nounits"]
    return subprocess.run(command, text=True, capture_output=True, check=True).stdout.split()


class Program:
    """Holds 3 GiB whose content it knows, and multiplies matrices when told to."""

    def __init__(self):
        import torch

        self.torch = torch
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.numbers = torch.arange(3 << 28, dtype=torch.int32, device="cuda")
        self.factor = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
        self.before = self.checksum()
        self.steps = 0
        self.over = False
        self.gpus = [bytes.fromhex(uuid.replace("GPU-", "").replace("-", "")) for uuid in smi("uuid")]

    def checksum(self):
        return int(self.numbers[::1000].to(self.torch.int64).sum().item())

    def work(self):
        while not self.over:
            self.torch.matmul(self.factor, self.factor)
            self.torch.cuda.synchronize()
            self.steps += 1

    def call(self, name, argument=None):
        began = time.monotonic()
        result = getattr(self.cuda, f"cuCheckpointProcess{name}")(os.getpid(), argument)
        state = ctypes.c_int(-1)
        self.cuda.cuCheckpointProcessGetState(os.getpid(), ctypes.byref(state))
        row(call=name, result=result, s=round(time.monotonic() - began, 3), state=state.value)
        return result == 0

    def save(self, title):
        row(part=title, used=smi("memory.used"), steps=self.steps)
        saved = self.call("Lock", ctypes.byref(Lock(5000))) and self.call("Checkpoint")
        row(used=smi("memory.used"), steps=self.steps)
        return saved

    def restore(self, pairs=()):
        if not pairs:
            return self.call("Restore")
        given = (Pair * len(pairs))()
        for one, (old, new) in zip(given, pairs, strict=True):
            ctypes.memmove(one.old, old, 16)
            ctypes.memmove(one.new, new, 16)
        return self.call("Restore", ctypes.byref(Restore(ctypes.addressof(given), len(pairs))))

    def cycle(self, title, pairs=()):
        if self.save(title) and (self.restore(pairs) or self.restore()):
            row(used=smi("memory.used"))
            self.call("Unlock")
        time.sleep(0.5)
        row(steps=self.steps)


def moves(program):
    program.cycle("idle")
    worker = threading.Thread(target=program.work)
    worker.start()
    time.sleep(1)
    program.cycle("working")
    if len(program.gpus) > 1:
        first, second = program.gpus[:2]
        program.cycle("one pair only", [(first, second)])
        program.cycle("all pairs", [(first, second), (second, first), *((gpu, gpu) for gpu in program.gpus[2:])])
    program.over = True
    worker.join()
    row(same=program.checksum() == program.before)


def full(program):
    if not program.save("another takes its place"):
        return
    command = [sys.executable, __file__, "--take"]
    other = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert other.stdin is not None and other.stdout is not None
    other.stdout.readline()
    program.restore()
    other.stdin.close()
    other.wait()
    row(part="the other has gone", used=smi("memory.used"))
    for _ in range(2):
        program.restore()
    program.call("Unlock")


def take():
    """All but 1.5 GiB of what is free, until stdin ends."""
    import torch

    kept = torch.empty(torch.cuda.mem_get_info()[0] - 3 * 2**29, dtype=torch.uint8, device="cuda")
    print(len(kept), flush=True)
    sys.stdin.read()


def main():
    if "--take" in sys.argv:
        return take()
    program = Program()
    threading.Thread(target=lambda: (full if "--full" in sys.argv else moves)(program) or os._exit(0)).start()
    time.sleep(120)
    os._exit(1)  # a call does not return


if __name__ == "__main__":
    main()
