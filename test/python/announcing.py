"""A high client that makes a context, launches nothing, and announces requests until it is killed."""

import ctypes
import sys
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

print("announcing", file=sys.stderr, flush=True)
while True:
    with cotenant.request(cotenant.LONGEST_US):
        time.sleep(0.01)
