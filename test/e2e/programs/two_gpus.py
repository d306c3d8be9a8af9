"""A service on two GPUs: two_gpus.py FOLDER.

File N of FOLDER is its command number N, from 0: a device and whether a request on it begins or ends. Says on stderr when
it has done so.
"""

import os
import sys
import time

from soft_device import Device, ok

COMMANDS = 8

ok("cuInit", 0)
devices = [Device(0), Device(1)]
print("ready", file=sys.stderr, flush=True)
for number in range(COMMANDS):
    path = os.path.join(sys.argv[1], str(number))
    while not os.path.exists(path):
        # A burst in which nothing is submitted for long is taken for over.
        for device in devices:
            if device.active:
                device.submit()
        time.sleep(0.005)
    with open(path) as file:
        device_number, word = file.read().split()
    devices[int(device_number)].obey(word)
    print("done {}".format(number), file=sys.stderr, flush=True)
