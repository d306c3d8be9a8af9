"""The cost of planning for a network that runs meanwhile."""

import json
import subprocess
import tempfile
import time
from pathlib import Path

import description
import torch


def latencies(one, machine, given, problem):
    """Latencies of a network over and over on all SMs, with and without a solver of a large problem, in turns."""
    course = one.course(description.whole([one.measured], [2]), machine.streams)
    graph, stream = course.steps[0].captured.graph, machine.streams[2]

    def loop(seconds):
        seen = []
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            began = time.perf_counter()
            with torch.cuda.stream(stream):
                graph.replay()
            stream.synchronize()
            seen.append(round(1000 * (time.perf_counter() - began), 4))
        return seen

    found = {"alone": [], "beside": []}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "large.json")
        file.write_text(json.dumps(problem), encoding="utf-8")
        line = [given.cotenant, "soc", "plan", file, "--seconds", "60"]
        for _ in range(8):
            found["alone"].append(loop(given.beside))
            solver = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                # Until it has read the file and searches.
                time.sleep(1.5)
                found["beside"].append(loop(given.beside))
                if solver.poll() is not None:
                    raise RuntimeError("the solver ended before the network was watched")
            finally:
                solver.kill()
                solver.wait()
    return {"network": one.name, "latenciesMs": found}
