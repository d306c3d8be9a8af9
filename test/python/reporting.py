"""reporting.py ROLE...: a process of a service, and a child for each further role, until it is killed.

gpu: makes a context and launches nothing. quick, slow: tells of 40 requests at once, with tokens 20 and 3000 ms apart. flood:
tells as fast as it can. forks: as quick, in a child of fork(), too. other: as quick, as another user. nothing: waits.
"""

import ctypes
import os
import subprocess
import sys
import time

import cotenant

role, *others = sys.argv[1:]
children = [subprocess.Popen([sys.executable, "-B", __file__, other]) for other in others]


def use_gpu() -> None:
    driver = ctypes.CDLL("libcuda.so.1")
    context = ctypes.c_void_p()
    for result in (
        driver.cuInit(0),
        driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0),
        driver.cuCtxSetCurrent(context),
    ):
        if result != 0:
            sys.exit("the driver answers {}".format(result))


def tell(seconds: float) -> None:
    while True:
        requests = [cotenant.request(0).begin() for _ in range(40)]
        for _ in range(2):
            time.sleep(seconds)
            for request in requests:
                request.progress()
        for request in requests:
            request.end()


if role == "gpu":
    use_gpu()
elif role == "forks":
    with cotenant.request(0):
        time.sleep(1)
    os.fork()
    tell(0.02)
elif role == "other":
    os.setgroups([])
    os.setgid(2000)
    os.setuid(2000)
    tell(0.02)
elif role == "flood":
    tell(0)
elif role in ("quick", "slow"):
    tell({"quick": 0.02, "slow": 3}[role])
print(role, os.getpid(), file=sys.stderr, flush=True)
time.sleep(3600)
