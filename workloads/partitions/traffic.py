"""Memory throughput from the GPU's own counters (GPM, a part of NVML on Hopper and later), without a profiler."""

import ctypes
import time

DRAM_BW_UTIL = 10
VERSION = 1
OLDEST_SAMPLE_S = 0.12


class Metric(ctypes.Structure):
    """nvmlGpmMetric_t."""

    _fields_ = [
        ("id", ctypes.c_uint),
        ("status", ctypes.c_int),
        ("value", ctypes.c_double),
        ("names", ctypes.c_void_p * 3),
    ]


class Wanted(ctypes.Structure):
    """nvmlGpmMetricsGet_t; how many metrics there is room for differs from driver to driver."""

    _fields_ = [
        ("version", ctypes.c_uint),
        ("count", ctypes.c_uint),
        ("earlier", ctypes.c_void_p),
        ("later", ctypes.c_void_p),
        ("metrics", Metric * 512),
    ]


class Counters:
    """Raises RuntimeError or OSError where they can't be read."""

    def __init__(self, index=0):
        self.library = ctypes.CDLL("libnvidia-ml.so.1")
        self.device = ctypes.c_void_p()
        self.call("nvmlInit_v2")
        self.call("nvmlDeviceGetHandleByIndex_v2", index, ctypes.byref(self.device))
        self.samples = [ctypes.c_void_p(), ctypes.c_void_p()]
        for sample in self.samples:
            self.call("nvmlGpmSampleAlloc", ctypes.byref(sample))

    def call(self, name, *given):
        code = getattr(self.library, name)(*given)
        if code != 0:
            raise RuntimeError(f"{name}: NVML error {code}")

    def dram(self, work, seconds):
        """
        While `work`, which waits for its own end, is done over and over: per cent of the memory's highest throughput
        used. A sample is up to 100 ms old, so what is watched has gone on for longer than that.
        """
        begun = time.monotonic()
        while time.monotonic() < begun + OLDEST_SAMPLE_S:
            work()
        earlier, later = self.samples
        self.call("nvmlGpmSampleGet", self.device, earlier)
        began = time.monotonic()
        while time.monotonic() < began + seconds:
            work()
        self.call("nvmlGpmSampleGet", self.device, later)
        wanted = Wanted(version=VERSION, count=1, earlier=earlier, later=later)
        wanted.metrics[0].id = DRAM_BW_UTIL
        self.call("nvmlGpmMetricsGet", ctypes.byref(wanted))
        if wanted.metrics[0].status != 0:
            raise RuntimeError(f"DRAM_BW_UTIL: NVML error {wanted.metrics[0].status}")
        return wanted.metrics[0].value
