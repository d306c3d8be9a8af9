"""A job with data loaders that use all the CPU they get: loading.py --loaders 32 -- COMMAND. Says their pids, then becomes the
command. They are stopped until somebody continues them (SIGCONT), and end with the job."""

import argparse
import ctypes
import json
import os
import signal
import zlib

PR_SET_PDEATHSIG = 1


def load():
    # As a worker of a data loader, which decodes what it reads.
    packed = zlib.compress(os.urandom(1 << 20))
    os.kill(os.getpid(), signal.SIGSTOP)
    while True:
        zlib.decompress(packed)
        zlib.compress(packed[: 1 << 16])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--loaders", type=int, default=32)
    parser.add_argument("command", nargs="+")
    given = parser.parse_args()
    parent = os.getpid()
    pids = []
    for _ in range(given.loaders):
        pid = os.fork()
        if pid == 0:
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() == parent:
                load()
            os._exit(0)
        pids.append(pid)
    print(json.dumps({"loaders": pids}), flush=True)
    os.execvp(given.command[0], given.command)


if __name__ == "__main__":
    main()
