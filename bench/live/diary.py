"""A best-effort client's diary (native/interposer/best_effort/chunk_log.h), and the work of that client that each burst found."""

import struct
from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, field
from statistics import median

RECORD = struct.Struct("<HHIQQII3I3I8x")
LAUNCH, BORDER, DRAINED, MARK, HOLD, BURST, ACTIVE, BLIND = range(1, 9)
KINDS = ["kernel", "graph", "graph part", "copy or fill"]

# Microseconds. A store is seen by the watching thread within one of its rounds.
LATE_HOLD = 20
# A best-effort client that has submitted nothing for so long is not at work.
AT_WORK = 50_000
# Active for so long before it began: it was announced.
ANNOUNCED = 300
# The GPU reads the hold word this long after its mark is seen, at most.
READ = 3


@dataclass
class Launch:
    at: int
    kind: int
    function: int
    shape: tuple
    expected_us: float


@dataclass
class Chunk:
    """Work between two borders at which the stream stops."""

    launches: list = field(default_factory=list)
    number: int = 0  # of the border at its end
    ended_at: int = 0  # when that was put into the stream; 0: not
    drained_at: int = 0  # all submitted before was seen to be complete

    def signature(self):
        return tuple((launch.function, launch.shape) for launch in self.launches)

    def expected_us(self):
        return sum(launch.expected_us for launch in self.launches)


class Stream:
    def __init__(self):
        self.chunks = [Chunk()]
        self.by_border = {}  # number of a waiting border: index of the chunk that begins there
        self.marks = []  # (at, number)

    def border(self, number, at, waits):
        if not waits:
            return
        last = self.chunks[-1]
        last.number, last.ended_at = number, at
        self.by_border[number] = len(self.chunks)
        self.chunks.append(Chunk())


@dataclass
class Burst:
    begun: int
    ended: int
    planned_us: float
    client: int
    announced: bool = False
    hold_us: float = 0  # from its beginning to the store of the hold word
    held: bool = True  # every word was stored already when it began
    unseen: bool = False
    under_way: bool = False
    launches: int = 0
    expected_us: float = 0
    typical_us: float = 0
    left_us: float = 0
    stopped_us: float | None = None  # after its beginning
    passed: int = 0  # borders passed while it ran, after the first
    what: str = ""

    @property
    def us(self):
        return (self.ended - self.begun) / 1000


class Diary:
    def __init__(self, path):
        self.names = {}
        with open(f"{path}.names", encoding="utf-8", errors="replace") as file:
            for line in file:
                handle, _, name = line.rstrip("\n").partition(" ")
                self.names[int(handle, 16)] = name
        self.streams = defaultdict(Stream)
        self.holds = [(0, 0)]
        self.active = [(0, 0)]
        self.bursts = []
        self.lost = 0
        self.submitted_at = []
        self.blind = []  # (from, to)
        self._read(path)
        self.submitted_at.sort()
        self.hold_at = [at for at, _ in self.holds]
        self.active_at = [at for at, _ in self.active]

    def _read(self, path):
        with open(path, "rb") as file:
            magic, size, most, used = struct.unpack("<8sIIQ", file.read(24))
            if magic != b"COTCHUNK" or size != RECORD.size:
                raise SystemExit(f'"{path}" is no diary of chunks.')
            file.seek(RECORD.size)
            data = file.read(RECORD.size * min(used, most))
            self.lost = max(0, used - most)
        for what, client, stream, at, key, number, expected, *shape in RECORD.iter_unpack(data):
            if what == LAUNCH:
                launch = Launch(at, number, key, tuple(shape), expected / 1000)
                self.streams[stream].chunks[-1].launches.append(launch)
                self.submitted_at.append(at)
            elif what == DRAINED:
                self.streams[stream].chunks[-1].drained_at = at
            elif what == BLIND:
                self.blind.append((key, at))
            elif what == BORDER:
                self.streams[stream].border(number, at, key)
            elif what == MARK:
                self.streams[stream].marks.append((at, number))
            elif what == HOLD:
                self.holds.append((at, number))
            elif what == ACTIVE:
                self.active.append((at, number))
            elif what == BURST and number == 0:
                self.bursts.append(Burst(key, at, expected / 1000, client))

    def held(self, at):
        """The hold word then, and since when."""
        since, value = self.holds[bisect_right(self.hold_at, at) - 1]
        return value, since

    def at_work(self, at):
        index = bisect_right(self.submitted_at, at)
        return index > 0 and at - self.submitted_at[index - 1] < AT_WORK * 1000

    def was_announced(self, burst):
        at, who = self.active[bisect_right(self.active_at, burst.begun) - 1]
        return who != 0 and burst.begun - at > ANNOUNCED * 1000

    def unseen(self, begun, ended):
        index = bisect_right(self.blind, (ended, 0)) - 1
        return index >= 0 and self.blind[index][1] > begun

    def name(self, launch):
        if launch.kind:
            return KINDS[min(launch.kind, 3)]
        grid = "x".join(map(str, launch.shape[:3]))
        return f"{self.names.get(launch.function, '?')[:70]} [{grid}]"


class Runs:
    """When each chunk of a stream ran."""

    def __init__(self, diary, stream):
        self.stream = stream
        self.marks = [(at, number) for at, number in stream.marks if number in stream.by_border]
        self.at = [at for at, _ in self.marks]
        lengths = defaultdict(list)
        for (begun, number), (ended, after) in zip(self.marks, self.marks[1:], strict=False):
            chunk = stream.chunks[stream.by_border[number]]
            ready = all(launch.at < begun for launch in chunk.launches) and 0 < chunk.ended_at < begun
            alone = diary.held(begun) == diary.held(ended) and diary.held(begun)[0] == 0
            if ready and alone and chunk.number == after:
                lengths[chunk.signature()].append((ended - begun) / 1000)
        self.typical = {sign: median(found) for sign, found in lengths.items() if len(found) > 2}
        self.surely = sum(map(len, lengths.values()))
        self.resume_us = self._resume_us(diary)

    def _resume_us(self, diary):
        """From the opening of the hold word until work goes on: a change of contexts where they take turns."""
        found = []
        for at, value in diary.holds[1:]:
            index = bisect_right(self.at, at) - 1
            if value or index < 0 or index + 1 >= len(self.marks):
                continue
            (begun, number), (ended, after) = self.marks[index : index + 2]
            chunk = self.stream.chunks[self.stream.by_border[number]]
            ready = chunk.launches and all(launch.at < begun for launch in chunk.launches)
            alone = chunk.number == after and diary.held(ended) == (0, at) and diary.held(begun)[0]
            if ready and alone and chunk.signature() in self.typical:
                found.append((ended - at) / 1000 - self.typical[chunk.signature()])
        return max(0.0, median(found)) if found else 0.0

    def typical_us(self, chunk):
        return self.typical.get(chunk.signature(), chunk.expected_us())


class Client:
    """A best-effort client: its diary, and when its streams ran what."""

    def __init__(self, path):
        self.diary = Diary(path)
        self.runs = [Runs(self.diary, stream) for stream in self.diary.streams.values() if stream.marks]

    def look(self, burst):
        """Work of this client that the burst found."""
        diary = self.diary
        held, since = diary.held(burst.begun)
        if held:
            burst.announced = burst.announced or diary.was_announced(burst)
        else:
            index = bisect_right(diary.hold_at, burst.begun)
            stored = diary.holds[index][0] if index < len(diary.holds) else burst.ended
            burst.held = False
            burst.hold_us = max(burst.hold_us, (min(stored, burst.ended) - burst.begun) / 1000)
        stored = burst.begun + int(burst.hold_us * 1000)
        burst.unseen = burst.unseen or diary.unseen(burst.begun, stored + LATE_HOLD * 1000)
        for run in self.runs:
            found(diary, run, burst, held, since, stored)


def found(diary, run, burst, held, since, stored):
    index = bisect_right(run.at, stored) - 1
    if index < 0:
        return
    at, number = run.marks[index]
    first = run.stream.by_border[number]
    chunk = run.stream.chunks[first]
    out = [launch for launch in chunk.launches if chunk.drained_at < launch.at < stored]
    after = run.marks[index + 1 : bisect_right(run.at, burst.ended)]
    stands = held and at >= since or not after and stored - at < READ * 1000
    if stands or not out:
        return
    # Behind a border at which the GPU stood, work begins when the word is opened.
    begun = since + int(run.resume_us * 1000) if not held and since > at else at
    typical = run.typical_us(chunk)
    left = min(typical, max(0.0, typical - (stored - begun) / 1000))
    if after:
        burst.passed += run.stream.by_border[after[-1][1]] - first - 1
    if burst.under_way and left <= burst.left_us:
        return
    burst.under_way = True
    burst.launches = len(out)
    burst.expected_us, burst.typical_us, burst.left_us = chunk.expected_us(), typical, left
    burst.stopped_us = (after[0][0] - burst.begun) / 1000 if after else None
    burst.what = diary.name(max(out, key=lambda launch: launch.expected_us))
