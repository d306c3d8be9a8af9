"""A high client that makes a context and tells of many requests at once, from several threads, until it is killed."""

import ctypes
import sys
import threading
import time

import cotenant

driver = ctypes.CDLL("libcuda.so.1")
context = ctypes.c_void_p()
for result in (
    driver.cuInit(0),
    driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0),
    driver.cuCtxSetCurrent(context),
):
    if result != 0:
        sys.exit("the driver answers {}".format(result))


@cotenant.request(0)
def short() -> None:
    time.sleep(0.002)


def serve() -> None:
    while True:
        many = [cotenant.request(0).begin() for _ in range(10)]
        for _ in range(3):
            time.sleep(0.01)
            for one in many:
                one.progress(2)
        for one in many[1:]:
            one.end()
        try:
            with cotenant.request(0):
                raise KeyError("of the service")
        except KeyError:
            pass
        short()


for _ in range(4):
    threading.Thread(target=serve, daemon=True).start()
print("telling", file=sys.stderr, flush=True)
time.sleep(3600)
