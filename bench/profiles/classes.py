"""Nsight Compute's counters of the bench's jobs, in runs of one pass each.

    python3 bench/profiles/classes.py FOLDER SECONDS [JOB,JOB... ...]

A kernel that is looked at in several passes is replayed, and before that ncu saves all memory that the
process has: 7 GB of a BERT's training, 30 GB of GPT-2's, for each kernel. With one pass there is nothing to
save. So what a throughput is made of is asked of ncu in sets of one pass each, and the job is run once for
each set. While one run is on the GPU the next ones import PyTorch. Jobs in one word share the time set by
set; the next word's follow. After SECONDS every job is told to end, and what was looked at until then
stands. `npx tsx bench/profiles/classes.ts FOLDER` puts what was found into the profiles.
"""

import collections
import concurrent.futures
import csv
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NCU = shutil.which("ncu") or "/usr/local/cuda/bin/ncu"
NVCC = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"

TRAIN = "workloads/train.py --iterations 1 --seconds 600"
SERVE = "workloads/serve.py --requests 1 --seconds 600 --batch 4"
JOBS = {
    "gpt2-train": f"{TRAIN} --model gpt2-large --batch 8 --sequence 512 --dtype autocast",
    "resnet50-train": f"{TRAIN} --model resnet50 --batch 64 --dtype autocast",
    "bert-train": f"{TRAIN} --model bert-large --batch 8 --sequence 384 --dtype fp32",
    "bert-graph": f"{SERVE} --form graph --model bert-large --sequence 128 --dtype bf16",
    "resnet50-graph": f"{SERVE} --form graph --model resnet50 --dtype fp32",
}
# Looked at: the kernels that make up this much of a request's or iteration's time.
SHARE = 0.98

DURATION = "gpu__time_duration.sum"
# Lines of sets of metrics.
SETS = json.loads((ROOT / "src/profile/measure/one-pass.json").read_text())["lines"]
ALWAYS = [
    DURATION,
    "launch__registers_per_thread",
    "launch__shared_mem_per_block_static",
    "launch__shared_mem_per_block_dynamic",
    "device__attribute_display_name",
    "device__attribute_multiprocessor_count",
]
# A kernel's own memory is a few bytes; its trials say nothing but how many passes a set takes.
SMALL = """
__global__ void small(float* x) { x[threadIdx.x] += 1; }
int main() {
  float* x;
  cudaMalloc(&x, 4096);
  small<<<1, 32>>>(x);
  return cudaDeviceSynchronize();
}
"""

# Waits for its turn, everything slow imported and the GPU's context made, then is the script.
HELD = """
import importlib, os, runpy, sys, time
turn, *sys.argv = sys.argv[1:]
sys.path.insert(0, os.path.dirname(sys.argv[0]))
models = "transformers.models"
for slow in ("torchvision.models", f"{models}.gpt2.modeling_gpt2", f"{models}.bert.modeling_bert"):
    try: importlib.import_module(slow)
    except ImportError: pass
import torch
torch.zeros(8, 8, device="cuda") @ torch.zeros(8, 8, device="cuda")
torch.cuda.synchronize()
open(turn + ".pid", "w").write(str(os.getpid()))
while not os.path.exists(turn): time.sleep(0.02)
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def ncu(metrics, log, command, *options):
    return [
        *(NCU, "--csv", "--page", "raw", "--target-processes", "all", "--clock-control", "none"),
        *("--check-exit-code", "no", "--metrics", ",".join(dict.fromkeys([*ALWAYS, *metrics]))),
        *("--log-file", str(log), *options, *command),
    ]


def rows(log):
    """Launches as dictionaries; none where ncu complains."""
    if not log.exists():
        return []
    lines = [line for line in log.read_text(errors="replace").splitlines(True) if line[:1] == '"']
    table = list(csv.reader(lines))
    return [dict(zip(table[0], row)) for row in table[2:]] if len(table) > 2 else []


class Trials:
    """How many passes a set takes, asked of a small kernel."""

    def __init__(self, folder):
        self.folder = Path(folder)
        source = self.folder / "small.cu"
        source.write_text(SMALL)
        self.program = self.folder / "small"
        subprocess.run([NVCC, "-o", str(self.program), str(source)], check=True)
        self.numbers = itertools.count()

    def look(self, metrics):
        log = self.folder / f"trial-{next(self.numbers)}.csv"
        command = ncu(metrics, log, [str(self.program)])
        try:
            subprocess.run(command, timeout=30, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            return {}
        found = rows(log)
        return found[0] if found else {}

    def passes(self, metrics):
        return int(self.look(metrics).get("profiler__replayer_passes", "0") or 0)

    def fits(self, sets):
        return len(sets) > 1 and self.passes(sum(sets, [])) == 1


def packed(folder):
    trials = Trials(folder)
    with concurrent.futures.ThreadPoolExecutor(len(SETS)) as pool:
        fit = list(pool.map(trials.fits, SETS))
    return sum(([sum(one, [])] if fits else one for one, fits in zip(SETS, fit)), [])


def names_of(job):
    """The kernels that make up SHARE of the time, as a regular expression."""
    profile = json.loads((ROOT / f"bench/profiles/h200/{job}.json").read_text())
    spent = collections.Counter()
    for step in profile["sequence"]:
        if "kernel" in step:
            kernel = profile["kernels"][step["kernel"]]
            spent[kernel["name"]] += kernel["durationNs"]["p50"]
    left, some = SHARE * sum(spent.values()), []
    for name, ns in spent.most_common():
        if left > 0:
            some.append(re.escape(name))
        left -= ns
    return "^(" + "|".join(some) + ")$"


class Run:
    """One job under ncu with one set, held until it is its turn."""

    def __init__(self, job, place, metrics, folder, held):
        self.label = f"{job}.{place}"
        self.log = folder / f"{self.label}.csv"
        self.turn = held.parent / f"{self.label}.turn"
        command = ["python3", str(held), str(self.turn), *JOBS[job].split()]
        only = ["--filter-mode", "per-launch-config", "--launch-count", "1"]
        only += ["--kernel-name-base", "mangled", "--print-kernel-base", "mangled"]
        only += ["--kernel-name", f"regex:{names_of(job)}"]
        self.said = open(folder / f"{self.label}.log", "w")
        self.process = subprocess.Popen(
            ncu(metrics, self.log, command, *only),
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=self.said,
            stderr=subprocess.STDOUT,
        )

    def pid(self):
        written = Path(f"{self.turn}.pid")
        text = written.read_text() if written.exists() else ""
        return int(text) if text else None

    def ends_by(self, end):
        """Takes its turn; told to end, it leaves what it has."""
        while self.pid() is None and self.process.poll() is None and time.monotonic() < end:
            time.sleep(0.05)
        self.turn.touch()
        if not self.waits(end):
            pid = self.pid()
            if pid is not None:
                os.kill(pid, signal.SIGTERM)
            if not self.waits(time.monotonic() + 6):
                self.process.kill()
                self.process.wait()
        self.said.close()

    def waits(self, end):
        try:
            self.process.wait(max(0.0, end - time.monotonic()))
            return True
        except subprocess.TimeoutExpired:
            return False

    def drop(self):
        self.process.kill()
        pid = self.pid()
        if pid is not None:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()
        self.said.close()


def slimmer(log):
    """Without the columns about the device, which are most of it."""
    lines = [line for line in log.read_text(errors="replace").splitlines(True) if line[:1] == '"']
    table = list(csv.reader(lines))
    if len(table) < 3:
        return 0
    dull = re.compile(r"(device__|nvlink|numa|c2clink|launch__occupancy|.*\.(min|max)$)")
    kept = [i for i, name in enumerate(table[0]) if name in ALWAYS or not dull.match(name)]
    with open(log, "w", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows(
            [[row[i] if i < len(row) else "" for i in kept] for row in table]
        )
    return len(table) - 2


def main():
    name, seconds, *waves = sys.argv[1:]
    begun = time.monotonic()

    def passed():
        return round(time.monotonic() - begun, 1)

    folder = Path(name).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    waves = waves or [",".join(JOBS)]
    end = begun + float(seconds)
    log: dict = {"ncu": NCU, "runs": []}
    # So that the pages of PyTorch are in memory when its processes start.
    warm = subprocess.Popen(
        ["python3", "-c", "import torch, torchvision.models, transformers"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    with tempfile.TemporaryDirectory() as scratch:
        log["sets"] = packed(scratch)
        log["packedSeconds"] = passed()
        print(f"{passed()} s: {len(log['sets'])} sets", *log["sets"], sep="\n  ", flush=True)
        held = Path(scratch) / "held.py"
        held.write_text(HELD)
        warm.wait()
        left = [(job, i, metrics) for wave in waves for i, metrics in enumerate(log["sets"]) for job in wave.split(",")]
        ahead = collections.deque()
        while left or ahead:
            while left and len(ahead) < 4:
                job, place, metrics = left.pop(0)
                ahead.append(Run(job, place, metrics, folder, held))
            run = ahead.popleft()
            if time.monotonic() > end - 3:
                run.drop()
                left = []
                continue
            start = passed()
            run.ends_by(min(end, time.monotonic() + 40))
            looked = slimmer(run.log) if run.log.exists() else 0
            log["runs"].append(dict(run=run.label, fromSeconds=start, toSeconds=passed(), launches=looked))
            print(log["runs"][-1], flush=True)
            (folder / "runs.json").write_text(json.dumps(log, indent=1))


main()
