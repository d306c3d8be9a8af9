"""One GPU's SMs as two disjoint sets, each a green context with a stream of its own.

Through the driver, because PyTorch's own class only makes sets that may overlap. Everything else stays in the
primary context, memory included; what is launched into such a stream, or captured from it, runs on its SMs alone.
"""

import ctypes
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

SM_RESOURCE = 1
DEFAULT_STREAM = 1
NON_BLOCKING = 1


class Sms(ctypes.Structure):
    """CUdevSmResource."""

    _fields_ = [(name, ctypes.c_uint) for name in ("count", "least", "alignment")]


class Resource(ctypes.Structure):
    """CUdevResource, with room behind it for what later drivers add; never used in an array."""

    _fields_ = [
        ("type", ctypes.c_uint),
        ("padding", ctypes.c_ubyte * 92),
        ("sms", Sms),
        ("rest", ctypes.c_ubyte * (48 - ctypes.sizeof(Sms))),
        ("room", ctypes.c_ubyte * 112),
    ]


class Driver:
    """libcuda by name: driver.cuInit(0). Raises RuntimeError with the driver's own word for what failed."""

    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")

    def __getattr__(self, name):
        function = getattr(self.library, name)

        def call(*given):
            code = function(*given)
            if code != 0:
                said = ctypes.c_char_p()
                self.library.cuGetErrorName(code, ctypes.byref(said))
                raise RuntimeError(f"{name}: {(said.value or b'').decode()} ({code})")

        return call


@dataclass
class Partition:
    name: str
    sms: int
    # A CUstream, as a number.
    stream: int


def split(driver, device, small):
    """[the larger set, the smaller of `small` SMs or a few more]. The primary context must be current."""
    whole, few, rest = Resource(), Resource(), Resource()
    groups = ctypes.c_uint(1)
    driver.cuDeviceGetDevResource(device, ctypes.byref(whole), SM_RESOURCE)
    driver.cuDevSmResourceSplitByCount(
        ctypes.byref(few), ctypes.byref(groups), ctypes.byref(whole), ctypes.byref(rest), 0, small
    )
    return [context(driver, device, resource) for resource in (rest, few)]


def context(driver, device, resource):
    described, green, stream, converted = (ctypes.c_void_p() for _ in range(4))
    driver.cuDevResourceGenerateDesc(ctypes.byref(described), ctypes.byref(resource), 1)
    driver.cuGreenCtxCreate(ctypes.byref(green), described, device, DEFAULT_STREAM)
    # Calls that take a context refuse a green one that was never converted.
    driver.cuCtxFromGreenCtx(ctypes.byref(converted), green)
    driver.cuGreenCtxStreamCreate(ctypes.byref(stream), green, NON_BLOCKING, 0)
    got = Resource()
    driver.cuGreenCtxGetDevResource(green, ctypes.byref(got), SM_RESOURCE)
    return Partition(f"sm{got.sms.count}", got.sms.count, stream.value or 0)


class Kernels:
    """probe.cu, compiled where it runs: where blocks run, and a load on the memory."""

    def __init__(self, driver):
        self.driver = driver
        with tempfile.TemporaryDirectory() as folder:
            image = Path(folder, "probe.cubin")
            source = Path(__file__).with_name("probe.cu")
            subprocess.run(["nvcc", "-arch=native", "-cubin", "-O3", "-o", image, source], check=True)
            module = ctypes.c_void_p()
            driver.cuModuleLoadData(ctypes.byref(module), image.read_bytes())
        self.functions = {}
        for name in (b"sm_of_blocks", b"move"):
            function = ctypes.c_void_p()
            driver.cuModuleGetFunction(ctypes.byref(function), module, name)
            self.functions[name] = function

    def sm_of_blocks(self, stream, out, blocks, spin_ns):
        """out: unsigned per block."""
        self.launch(b"sm_of_blocks", stream, blocks, 32, (ctypes.c_uint64(out), ctypes.c_uint64(spin_ns)))

    def move(self, stream, source, target, size, blocks, lasts_ns, moved):
        """Copies round and round for lasts_ns; adds the bytes read and written to moved[0]. size: a power of two."""
        numbers = (source, target, size // 16 - 1, lasts_ns, moved)
        self.launch(b"move", stream, blocks, 512, [ctypes.c_uint64(one) for one in numbers])

    def launch(self, name, stream, blocks, threads, values):
        pointers = (ctypes.c_void_p * len(values))(*(ctypes.cast(ctypes.byref(one), ctypes.c_void_p) for one in values))
        self.driver.cuLaunchKernel(
            self.functions[name], blocks, 1, 1, threads, 1, 1, 0, ctypes.c_void_p(stream), pointers, None
        )
