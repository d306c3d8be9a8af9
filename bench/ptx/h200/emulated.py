"""Does a GPU leave what the emulator says? python3 bench/ptx/h200/emulated.py CASES.json.gz OUT.json

Runs the kernels that emulated.ts wrote, one launch each, and compares buffers byte by byte. Behind a kernel that
faults, another process goes on with the next.
"""

import argparse
import base64
import ctypes
import gzip
import json
import os
import subprocess
import time

LOAD_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
ELEMENTS = {"u8": 0, "u16": 1, "s32": 3, "s64": 5}  # CUtensorMapDataType
SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}  # CUtensorMapSwizzle

cuda = ctypes.CDLL("libcuda.so.1")


def check(status, what):
    if status != 0:
        text = ctypes.c_char_p()
        cuda.cuGetErrorString(status, ctypes.byref(text))
        raise RuntimeError(f"{what}: {(text.value or b'?').decode()}")


def tensor_map(one, address):
    """128 bytes at a multiple of 64, kept alive by the caller."""
    rank = len(one["sizes"])
    room = (ctypes.c_uint8 * 256)()
    start = (ctypes.addressof(room) + 63) // 64 * 64
    numbers = {
        "sizes": (ctypes.c_uint64 * rank)(*one["sizes"]),
        "strides": (ctypes.c_uint64 * max(1, rank - 1))(*one["strides"]),
        "box": (ctypes.c_uint32 * rank)(*one["box"]),
        "steps": (ctypes.c_uint32 * rank)(*one["steps"]),
    }
    check(
        cuda.cuTensorMapEncodeTiled(
            ctypes.c_void_p(start),
            ELEMENTS[one["element"]],
            ctypes.c_uint32(rank),
            ctypes.c_void_p(address),
            numbers["sizes"],
            numbers["strides"],
            numbers["box"],
            numbers["steps"],
            0,
            SWIZZLES[one["swizzle"]],
            0,
            0,
        ),
        "cuTensorMapEncodeTiled",
    )
    return room, start


def run(case):
    """Bytes that differ, of how many."""
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    check(cuda.cuModuleLoadData(ctypes.byref(module), case["ptx"].encode("latin1") + b"\0"), "cuModuleLoadData")
    check(cuda.cuModuleGetFunction(ctypes.byref(function), module, case["kernel"].encode()), "cuModuleGetFunction")
    if case["shared"]:
        check(cuda.cuFuncSetAttribute(function, LOAD_SHARED, case["shared"]), "cuFuncSetAttribute")
    buffers, kept, pointers = [], [], []
    held: ctypes._SimpleCData | ctypes.Array
    for one in case["args"]:
        if one["kind"] == "map":
            room, start = tensor_map(one, buffers[one["buffer"]][0].value)
            kept.append(room)
            pointers.append(start)
            continue
        data = base64.b64decode(one["bytes"])
        if one["kind"] == "scalar":
            held = ctypes.create_string_buffer(data, len(data))
        else:
            held = ctypes.c_uint64()
            check(cuda.cuMemAlloc_v2(ctypes.byref(held), ctypes.c_size_t(len(data))), "cuMemAlloc")
            check(cuda.cuMemcpyHtoD_v2(held, data, ctypes.c_size_t(len(data))), "cuMemcpyHtoD")
            buffers.append((held, one.get("expected"), len(data)))
        kept.append(held)
        pointers.append(ctypes.addressof(held))
    arguments = (ctypes.c_void_p * len(pointers))(*pointers)
    check(cuda.cuLaunchKernel(function, *case["grid"], *case["block"], case["shared"], None, arguments, None), "launch")
    check(cuda.cuCtxSynchronize(), "the kernel")
    differing = compared = 0
    for held, expected, size in buffers:
        if expected is None:
            continue
        found = ctypes.create_string_buffer(size)
        check(cuda.cuMemcpyDtoH_v2(found, held, ctypes.c_size_t(size)), "cuMemcpyDtoH")
        wanted = base64.b64decode(expected)
        compared += size
        if found.raw != wanted:
            differing += sum(a != b for a, b in zip(found.raw, wanted))
    return differing, compared


def work(cases, first, lines):
    """Runs cases from `first` on until one faults, which ends the process' use of the GPU."""
    device, context = ctypes.c_int(), ctypes.c_void_p()
    check(cuda.cuInit(0), "cuInit")
    check(cuda.cuDeviceGet(ctypes.byref(device), 0), "cuDeviceGet")
    check(cuda.cuCtxCreate_v2(ctypes.byref(context), 0, device), "cuCtxCreate")
    for case in cases[first:]:
        line = {"name": case["name"]}
        try:
            line["differing"], line["compared"] = run(case)
        except RuntimeError as error:
            line["fault"] = str(error)
        with open(lines, "a", encoding="utf8") as file:
            file.write(json.dumps(line) + "\n")
        if "fault" in line:
            return


def read(lines):
    with open(lines, encoding="utf8") as file:
        return [json.loads(line) for line in file]


def said(*words):
    try:
        return subprocess.run(words, capture_output=True, text=True, timeout=20).stdout.strip()
    except OSError:
        return ""


def main():
    words = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    words.add_argument("cases")
    words.add_argument("out")
    given = words.parse_args()
    with gzip.open(given.cases, "rt", encoding="utf8") as file:
        cases = json.load(file)
    lines = f"{given.out}.lines"
    open(lines, "w").close()
    while len(read(lines)) < len(cases):
        before = len(read(lines))
        child = os.fork()
        if child == 0:
            try:
                work(cases, before, lines)
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        if len(read(lines)) == before:
            break
    results = read(lines)
    os.remove(lines)
    for line in results:
        if line.get("differing") or "fault" in line:
            print(f"{line['name']}: {line.get('fault') or line['differing']}", flush=True)
    same = sum(one.get("differing") == 0 for one in results)
    print(f"{same} of {len(cases)} cases leave what the emulator says")
    commit = os.environ.get("COTENANT_COMMIT") or said("git", "rev-parse", "HEAD")
    with open(given.out, "w", encoding="utf8") as file:
        document = {
            "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "commit": commit,
            "gpu": said("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader", "--id=0"),
            "command": "python3 bench/ptx/h200/emulated.py CASES.json.gz OUT.json",
            "cases": results,
        }
        json.dump(document, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
