"""A best-effort tenant that does what the agent and the other clients don't expect, until it is killed.

Arguments: the socket, a Hello of a best-effort client, a JSON object of places in the messages, and a seed. It says how
many faults it has made, and ends with a message and status 3 when one of them has won it something.
"""

import ctypes
import fcntl
import json
import mmap
import os
import random
import socket
import struct
import sys
from typing import NoReturn

path, hello_hex, places_json, seed = sys.argv[1:]
places = json.loads(places_json)
rng = random.Random(int(seed))

libc = ctypes.CDLL(None)
F_ADD_SEALS = 1033
PUNCH_HOLE_KEEP_SIZE = 1 | 2
EXTREMES = [0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**63, 2**64 - 1]


def won(what: str) -> NoReturn:
    print("WON:", what, file=sys.stderr, flush=True)
    os._exit(3)


def make_hello(**fields: int) -> bytearray:
    hello = bytearray.fromhex(hello_hex)
    stat = open("/proc/self/stat").read()
    struct.pack_into("<I", hello, places["pid"], os.getpid())
    struct.pack_into("<Q", hello, places["startTime"], int(stat[stat.rindex(")") + 2 :].split()[19]))
    for name, value in fields.items():
        struct.pack_into("<I", hello, places[name], value & 0xFFFFFFFF)
    return hello


def say(
    hello: bytes | bytearray, files: list[int] | None = None, wait: float = 5
) -> tuple[socket.socket, bytes, list[int]]:
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(wait)
    answer = b""
    came: list[int] = []
    try:
        connection.connect(path)
        socket.send_fds(connection, [hello], files or [])
        while len(answer) < places["welcomeSize"]:
            part, descriptors, _, _ = socket.recv_fds(connection, places["welcomeSize"] - len(answer), 32)
            came += descriptors
            if not part:
                break
            answer += part
    except OSError:
        pass
    return connection, answer, came


def is_let_in(answer: bytes) -> bool:
    return len(answer) == places["welcomeSize"] and struct.unpack_from("<I", answer, places["status"])[0] == 0


def close(connection: socket.socket, files: list[int]) -> None:
    connection.close()
    for fd in files:
        os.close(fd)


class Place:
    """The slot that it may have."""

    def __init__(self) -> None:
        while True:
            self.connection, answer, self.files = say(make_hello())
            if is_let_in(answer):
                break
            close(self.connection, self.files)
        self.common, *self.own = self.files
        self.pages = [mmap.mmap(fd, os.fstat(fd).st_size) for fd in self.own]

    def leave(self) -> None:
        for page in self.pages:
            page.close()
        close(self.connection, self.files)


place = Place()
silent: list[socket.socket] = []


def write_values() -> None:
    for _ in range(64):
        page = rng.choice(place.pages)
        value = rng.choice([*EXTREMES, rng.getrandbits(64)])
        # Half of them into the first words, which others act on.
        within = len(page) if rng.random() < 0.5 else 128
        page[(at := 8 * rng.randrange(within // 8)) : at + 8] = struct.pack("<Q", value)


def punch_holes() -> None:
    for fd in place.own:
        libc.fallocate(fd, PUNCH_HOLE_KEEP_SIZE, ctypes.c_int64(0), ctypes.c_int64(os.fstat(fd).st_size))


def resize() -> None:
    for fd in place.files:
        try:
            os.ftruncate(fd, rng.choice([0, 1, 4095, 2**20]))
            won("a file of the agent has another size")
        except OSError:
            pass


def write_common() -> None:
    anew = os.open(f"/proc/self/fd/{place.common}", os.O_RDWR)
    try:
        os.pwrite(anew, b"\1" * 64, 0)
        won("it wrote what all clients have")
    except OSError:
        pass
    try:
        mmap.mmap(anew, os.fstat(anew).st_size)
        won("it mapped what all clients have for writing")
    except OSError:
        pass
    os.close(anew)


def be_high() -> None:
    connection, answer, files = say(make_hello(**{"class": places["high"]}))
    if is_let_in(answer):
        won("it is a high client")
    close(connection, files)
    # Whoever attaches anew has given its slot back.
    come_back()


def change_hello() -> None:
    hello = make_hello()
    for _ in range(rng.randrange(1, 8)):
        hello[rng.randrange(len(hello))] = rng.choice([0, 1, 127, 128, 255, rng.randrange(256)])
    connection, _, files = say(bytes(hello), wait=0.01)
    close(connection, files)


def half_hello() -> None:
    connection, _, files = say(bytes(make_hello()[: rng.randrange(200)]), wait=0.001)
    close(connection, files)


def be_silent() -> None:
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(path)
        silent.append(connection)
    except OSError:
        connection.close()
    while len(silent) > 32:
        silent.pop(0).close()


def pass_descriptors() -> None:
    kinds = [0, 1, 2, place.common, *place.own, silent[0].fileno() if silent else 0]
    files = [rng.choice(kinds) for _ in range(rng.randrange(1, 250))]
    connection, _, came = say(bytes(make_hello(kind=rng.randrange(4))), files, wait=0.01)
    close(connection, came)


def reattach() -> None:
    own = []
    for size in rng.choice([places["ownSizes"], [4096, 4096], [places["ownSizes"][0]]]):
        fd = os.memfd_create("cotenant", os.MFD_ALLOW_SEALING)
        os.ftruncate(fd, size)
        fcntl.fcntl(fd, F_ADD_SEALS, rng.choice([0, 7, 15]))
        own.append(fd)
    slot = rng.randrange(-1, 20)
    connection, _, came = say(bytes(make_hello(kind=places["reattach"], slot=slot)), own, wait=1)
    close(connection, came + own)


def come_back() -> None:
    global place
    place.leave()
    place = Place()


faults = {
    write_values: 57,
    punch_holes: 3,
    resize: 3,
    write_common: 3,
    change_hello: 8,
    half_hello: 5,
    be_silent: 5,
    pass_descriptors: 5,
    reattach: 5,
    be_high: 3,
    come_back: 3,
}
made = 0
while True:
    (fault,) = rng.choices(list(faults), list(faults.values()))
    fault()
    made += 1
    if made % 100 == 0:
        print("faults:", made, file=sys.stderr, flush=True)
