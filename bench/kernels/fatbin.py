"""For which GPUs does a library carry kernels, as machine code and as PTX?

A CUDA library keeps its kernels in the ELF section .nv_fatbin: one fat binary after another, each a header
and entries, one per architecture. Only headers are read, through a mapping, so a library of gigabytes costs
little more than one of kilobytes.

  python3 fatbin.py /usr/local/cuda/lib64/libcublas.so ...
"""

import mmap
import struct
import sys
from collections import Counter, namedtuple

SECTIONS = (b".nv_fatbin", b"__nv_relfatbin")
MAGIC = 0xBA55ED50
# Magic, version, size of this header, size of what follows it.
FAT_HEADER = struct.Struct("<IHHQ")
# Kind, flags, size of this header, size of the payload, 12 bytes that do not matter here, architecture.
ENTRY_HEADER = struct.Struct("<HHIQ12xI")
KINDS = {1: "ptx", 2: "cubin"}
# Between two fat binaries there are at most so many bytes of padding.
LONGEST_GAP = 4096

Section = namedtuple("Section", "offset size")
# Architectures as numbers, 90 for sm_90: what one source file was compiled to.
FatBinary = namedtuple("FatBinary", "ptx cubin")


class Malformed(ValueError):
    pass


def fat_binaries(path):
    """Entries of a library, in order."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return found_in(data)


def found_in(data):
    return [fat for section in sections(data) for fat in read(data, section)]


def usable(fats, gpu):
    """(how many hold PTX from which code for this GPU can be made, how many hold any code for it)"""
    from_ptx = [any(arch <= gpu for arch in fat.ptx) for fat in fats]
    # Machine code runs on later minor versions, but never on another major one.
    ready = [any(arch // 10 == gpu // 10 and arch <= gpu for arch in fat.cubin) for fat in fats]
    return sum(from_ptx), sum(map(max, from_ptx, ready))


def sections(data):
    """Those of a 64-bit little-endian ELF file that hold fat binaries."""
    if data[:6] != b"\x7fELF\x02\x01":
        raise Malformed("not a 64-bit little-endian ELF file")
    (table,) = struct.unpack_from("<Q", data, 0x28)
    size, count, names = struct.unpack_from("<HHH", data, 0x3A)
    headers = [struct.unpack_from("<II8x8xQQ", data, table + i * size) for i in range(count)]
    if not headers:
        return []
    strings = headers[names][2]
    return [
        Section(offset, length)
        for name, kind, offset, length in headers
        # A section of kind 8 takes no room in the file.
        if kind != 8 and name_at(data, strings + name) in SECTIONS
    ]


def name_at(data, offset):
    # Long enough for the names looked for.
    return bytes(data[offset : offset + 32]).split(b"\0", 1)[0]


def read(data, section):
    """Each fat binary of a section."""
    at, end = section.offset, section.offset + section.size
    while (at := next_fat(data, at, end)) is not None:
        _, _, header, length = FAT_HEADER.unpack_from(data, at)
        entry, at = at + header, min(at + header + length, end)
        found = FatBinary(set(), set())
        while entry + ENTRY_HEADER.size <= at:
            kind, _, header, length, arch = ENTRY_HEADER.unpack_from(data, entry)
            if header < ENTRY_HEADER.size:
                break
            if kind in KINDS:
                getattr(found, KINDS[kind]).add(arch)
            entry += header + length
        yield found


def next_fat(data, at, end):
    """Where the next one begins; None at the end."""
    if at + FAT_HEADER.size > end:
        return None
    # Never further than padding goes: the rest of the section would be read for nothing.
    found = data.find(struct.pack("<I", MAGIC), at, min(end, at + LONGEST_GAP))
    return found if found >= 0 and found + FAT_HEADER.size <= end else None


def counted(fats, kind):
    """Architectures, and in how many fat binaries each is."""
    counts = Counter(arch for fat in fats for arch in getattr(fat, kind))
    return ", ".join(f"sm_{arch} ({counts[arch]})" for arch in sorted(counts)) or "none"


def main():
    for path in sys.argv[1:]:
        try:
            fats = fat_binaries(path)
        except (OSError, ValueError) as fault:
            print(f"{path}: {fault}")
            continue
        print(f"{path}: {len(fats)} fat binaries")
        for kind in FatBinary._fields:
            print(f"  {kind:5} {counted(fats, kind)}")


if __name__ == "__main__":
    main()
