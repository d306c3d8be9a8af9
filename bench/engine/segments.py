"""The segments of a high client and the slices of best-effort ones, as the interposer records them, in one file.

    python3 bench/engine/segments.py --agent PID --seconds 15 [--slot N] FILE

Reads the memory files of the agent (src/agent/gpus/region.ts) through /proc, without a word to the agent or its clients.
The offsets are those of native/generated/protocol.h, so agent, clients and this file must be of one release. Times are in
us, from the first segment's begin; `began` of a slice is null where the GPU was not seen to come farther. `lost` counts
records that were overwritten before they were read. Tests of what recognizes steps read such files.
"""

import argparse
import json
import os
import re
import sys
import time
from pathlib import Path

PROTOCOL = Path(__file__).parents[2] / "native" / "generated" / "protocol.h"
COLUMNS = {
    "segments": ["begin_us", "end_us", "waited_us", "submissions", "nodes", "main"],
    "slices": ["opened_us", "began_us", "closed_us", "finished_us"],
}


class Layout:
    """Constants and offsets of the shared memory, from the header that the interposer is compiled with."""

    def __init__(self, header):
        text = header.read_text()
        self.constants = {
            name: int(value) for name, value in re.findall(r"constexpr std::uint32_t (\w+) = (\d+);", text)
        }
        self.offsets = {
            (struct, field): int(at) for struct, field, at in re.findall(r"offsetof\((\w+), (\w+)\) == (\d+)", text)
        }

    def ring(self, struct, kind):
        """Place of the count and of the records of one kind ("segment", "slice"), their number and words."""
        count, records = self.offsets[struct, f"{kind}s"], self.offsets[struct, f"{kind}Records"]
        upper = kind.upper()
        return count, records, self.constants[f"{upper}_RECORDS"], self.constants[f"{upper}_RECORD_WORDS"]


class Ring:
    """The records that one client writes. What was there before is not told."""

    def __init__(self, file, place):
        self.file = file
        self.count_at, self.records_at, self.records, self.words = place
        self.next = self.count()
        self.lost = 0

    def read_words(self, at, count):
        data = os.pread(self.file, 8 * count, at)
        return [int.from_bytes(data[8 * i : 8 * i + 8], "little") for i in range(count)]

    def count(self):
        return self.read_words(self.count_at, 1)[0]

    def take(self):
        """Those that are new since the last time, as lists of words."""
        end = self.count()
        words = self.read_words(self.records_at, self.records * self.words)
        # A record is overwritten before it is counted, so the one in the place of the next may be half of each.
        oldest = self.count() - self.records + 1
        begin = max(self.next, oldest)
        self.lost += min(begin, end) - self.next
        self.next = end
        for number in range(begin, end):
            at = number % self.records * self.words
            yield words[at : at + self.words]


def files_of(agent, kind):
    """The memory files of an agent's slots of one class, by slot: paths that can be opened."""
    found = {}
    for path in Path(f"/proc/{agent}/fd").iterdir():
        try:
            target = os.readlink(path)
        except OSError:
            continue  # closed meanwhile
        named = re.match(rf"/memfd:cotenant-{kind}-(\d+)\b", target)
        if named:
            found[int(named[1])] = path
    return found


def segment_row(words, constants):
    *times, counts = words
    nodes, main = constants["SEGMENT_NODES_SHIFT"], constants["SEGMENT_MAIN_SHIFT"]
    return [*times, counts & ((1 << nodes) - 1), counts >> nodes & ((1 << (main - nodes)) - 1), counts >> main & 1]


def relative(rows, times, durations, begin):
    """Rows with times in us from `begin` and durations in us; a time of 0 is none."""
    for row in rows:
        yield [
            (round((value - begin) / 1000) if value else None)
            if i in times
            else round(value / 1000)
            if i in durations
            else value
            for i, value in enumerate(row)
        ]


def record(agent, slot, seconds, every):
    layout = Layout(PROTOCOL)
    high = files_of(agent, "high")
    if slot is None:
        slot = min(high, default=None)
    if slot not in high:
        raise SystemExit(
            f"segments.py: agent {agent} has no high client" + ("." if slot is None else f" in slot {slot}.")
        )
    segments = Ring(os.open(high[slot], os.O_RDONLY), layout.ring("HighSlot", "segment"))
    slices = {}
    segment_rows, slice_rows = [], []
    until = time.monotonic() + seconds
    while True:
        # Jobs may come while this runs.
        for number, path in files_of(agent, "best-effort").items():
            if number not in slices:
                slices[number] = Ring(os.open(path, os.O_RDONLY), layout.ring("BestEffortSlot", "slice"))
        segment_rows += (segment_row(words, layout.constants) for words in segments.take())
        for ring in slices.values():
            slice_rows += ring.take()
        if time.monotonic() >= until:
            break
        time.sleep(every)
    begin = segment_rows[0][0] if segment_rows else 0
    return {
        "columns": COLUMNS,
        "lost": {"segments": segments.lost, "slices": sum(ring.lost for ring in slices.values())},
        "segments": list(relative(segment_rows, {0, 1}, {2}, begin)),
        "slices": list(relative(sorted(slice_rows), {0, 1, 2}, {3}, begin)),
    }


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--agent", type=int, required=True, metavar="PID", help="agent.json in its directory tells it")
    options.add_argument(
        "--slot", type=int, help="of the high client, as `cotenant status --json` has it; default: the first"
    )
    options.add_argument("--seconds", type=float, default=15)
    options.add_argument("--every", type=float, default=0.1, metavar="S", help="how often it looks (default: 0.1 s)")
    options.add_argument("file", type=Path)
    given = options.parse_args()
    result = record(given.agent, given.slot, given.seconds, given.every)
    given.file.write_text(json.dumps(result, separators=(",", ":")) + "\n")
    rows, slices = result["segments"], result["slices"]
    mains = sum(row[-1] for row in rows)
    print(f"{given.file.name}: {len(rows)} segments, {mains} of them main, {len(slices)} slices, lost {result['lost']}")


if __name__ == "__main__":
    sys.exit(main())
