"""A service of two processes, each on a GPU: ranks.py FOLDER.

File N of FOLDER is command number N, from 0: a rank and whether a request on it begins or ends, or "ends" alone for the
program. Says on stderr when it has done so.
"""

import os
import subprocess
import sys
import time

if len(sys.argv) == 2:
    ranks = [
        subprocess.Popen(
            [sys.executable, __file__, sys.argv[1], str(rank)],
            env={**os.environ, "CUDA_VISIBLE_DEVICES": str(rank)},
        )
        for rank in (0, 1)
    ]
    sys.exit(max(rank.wait() for rank in ranks))

from soft_device import Device, ok  # after the processes have their variables

own = sys.argv[2]
ok("cuInit", 0)
device = Device(0, b"ncclDevKernel_AllReduce_Sum_f32_RING_LL")
print("ready", own, file=sys.stderr, flush=True)
number = 0
while True:
    path = os.path.join(sys.argv[1], str(number))
    while not os.path.exists(path):
        # A burst in which nothing is submitted for long is taken for over.
        if device.active:
            device.submit()
        time.sleep(0.005)
    with open(path) as file:
        rank, _, word = file.read().partition(" ")
    if rank == "ends":
        break
    if rank == own:
        device.obey(word)
        print("done {}".format(number), file=sys.stderr, flush=True)
    number += 1
