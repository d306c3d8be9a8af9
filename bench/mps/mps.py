"""mps.py PROGRAM SECONDS OUTDIR: what MPS by itself costs, and which setting changes it. A process for each setting, each with its
own environment; they take turns (`core`, or `all` cases of mps.cu), so that the clock's drift decides nothing. Rows of JSON on stdout.
Under PIPES/plain an MPS daemon listens, nobody does under PIPES/none.

MPS clients are slower, for seconds at times, until a process outside of MPS has run something. So each turn begins with a few kernels
of such a process; those that EXTENDED names have a second turn ("after MPS clients") with kernels of other MPS clients before it.
"""

import json
import os
import queue
import subprocess
import sys
import threading
import time
from pathlib import Path

PIPES = Path(os.environ["PIPES"])
HERE = Path(__file__).resolve().parent
BERT = ["--model", "bert-large", "--batch", "4", "--sequence", "128", "--dtype", "bf16", "--form", "graph"]
RESNET = ["--model", "resnet50", "--batch", "4", "--dtype", "fp32", "--form", "graph"]
PRIORITY, CONNECTIONS = "CUDA_MPS_CLIENT_PRIORITY", "CUDA_DEVICE_MAX_CONNECTIONS"
PERCENT = "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"
# of each: a name, the daemon, the environment
SETTINGS = [
    ("no MPS", "none", {}),
    ("MPS", "plain", {}),
    ("MPS, client priority 0", "plain", {PRIORITY: "0"}),
    ("MPS, client priority 1", "plain", {PRIORITY: "1"}),
    ("MPS, 1 connection", "plain", {CONNECTIONS: "1"}),
    ("MPS, 2 connections", "plain", {CONNECTIONS: "2"}),
    ("MPS, 8 connections", "plain", {CONNECTIONS: "8"}),
    ("MPS, 32 connections", "plain", {CONNECTIONS: "32"}),
    ("MPS, 100 %", "plain", {PERCENT: "100"}),
    ("MPS, 99 %", "plain", {PERCENT: "99"}),
    ("MPS, partitions by context", "plain", {"CUDA_MPS_ENABLE_PER_CTX_DEVICE_MULTIPROCESSOR_PARTITIONING": "1"}),
    ("MPS, launch queues 4x", "plain", {"CUDA_SCALE_LAUNCH_QUEUES": "4x"}),
    ("MPS, eager loading", "plain", {"CUDA_MODULE_LOADING": "EAGER"}),
    ("no MPS, 2 connections", "none", {CONNECTIONS: "2"}),
]
EXTENDED = {"no MPS", "MPS"}


class Process:
    def __init__(self, what, setting, command):
        name, daemon, extra = setting
        self.what, self.name, self.failed = what, name, None
        env = {**os.environ, **extra, "CUDA_MPS_PIPE_DIRECTORY": str(PIPES / daemon)}
        if daemon != "none":
            env["CUDA_VISIBLE_DEVICES"] = "0"  # the daemon numbers those that it was given anew
        self.errors = Path(sys.argv[3]) / f"{what}-{name}.err".replace(" ", "-").replace("%", "percent")
        with open(self.errors, "w", encoding="utf-8") as errors:
            self.process = subprocess.Popen(
                command, env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors
            )
        assert self.process.stdin is not None and self.process.stdout is not None
        self.orders, self.said = self.process.stdin, self.process.stdout
        self.lines = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.said:
            self.lines.put(line.strip())
        self.lines.put(None)

    def until(self, word, seconds):
        """The rows before the word; None if it did not come."""
        rows, end = [], time.monotonic() + seconds
        while not self.failed:
            try:
                line = self.lines.get(timeout=max(0.01, end - time.monotonic()))
            except queue.Empty:
                line = None
            if line is None:
                said = self.errors.read_text(encoding="utf-8").strip().splitlines()
                errors = [line for line in said if "rror" in line]
                self.failed = (errors or said or [f"no {word}"])[-1].strip()
            elif line == word:
                return rows
            elif line.startswith("{"):
                rows.append(json.loads(line))
        return None

    def ask(self, order, seconds):
        if self.failed:
            return None
        try:
            self.orders.write(order + "\n")
            self.orders.flush()
        except OSError:
            pass  # it ended: reading says why
        return self.until("done", seconds)


def p50(values):
    return round(sorted(values)[len(values) // 2], 1) if values else None


class Pool:
    def __init__(self):
        self.times, self.turns = {}, {}

    def take(self, process, rows, note=""):
        for row in rows or []:
            key = (process.what, process.name + note, row["case"], row["kernels"])
            kept = self.times.setdefault(key, {})
            for what in ("us", "launchUs", "spanUs"):
                kept.setdefault(what, []).extend(row[what])
            self.turns.setdefault(key, []).append(p50(row["us"]))

    def write(self):
        for (what, name, case, kernels), kept in self.times.items():
            row = {"process": what, "setting": name, "case": case, "kernels": kernels, "replays": len(kept["us"])}
            row |= {key: p50(values) for key, values in kept.items()}
            row["usOfTurns"] = self.turns[what, name, case, kernels]
            print(json.dumps(row), flush=True)


def main():
    program, limit = sys.argv[1], float(sys.argv[2])
    begin = time.monotonic()
    pool = Pool()
    service = [sys.executable, str(HERE / "mps_service.py")]
    processes = [Process("probe", setting, [program]) for setting in SETTINGS]
    for setting in SETTINGS:
        if setting[0] != "MPS, eager loading":  # of all kernels that PyTorch has
            processes.append(Process("BERT-large", setting, [*service, *BERT]))
        if setting[0] in EXTENDED:
            processes.append(Process("ResNet50", setting, [*service, *RESNET]))
    for process in processes:
        process.until("ready", max(1, begin + 35 - time.monotonic()))

    outside, *others = (one for one in processes if one.what == "probe")
    inside = [one for one in others if one.name.startswith("MPS, ")]
    for turn in range(8):
        for process in processes if turn % 2 == 0 else reversed(processes):
            if time.monotonic() - begin > limit - 12:
                break
            order = "all 40" if process.name in EXTENDED else "core 40"
            outside.ask("core 2", 8)
            pool.take(process, process.ask(order, 8))
            if process.name == "MPS":
                for other in inside[-3:]:
                    other.ask("core 10", 8)
                pool.take(process, process.ask("core 40", 8), ", after MPS clients")
    pool.write()
    for process in processes:
        if process.what != "probe" and process.name in EXTENDED:
            for row in process.ask("profile 10", 10) or []:
                print(json.dumps({"process": process.what, "setting": process.name, **row}), flush=True)
    for process in processes:
        if process.failed:
            print(json.dumps({"process": process.what, "setting": process.name, "failed": process.failed}), flush=True)
        process.process.kill()
        process.process.wait()


if __name__ == "__main__":
    main()
