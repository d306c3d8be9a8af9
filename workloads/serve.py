"""Latency-critical inference: requests arrive in an open loop, each is one batch.

A request is: copy in from pinned memory, the model (eager, one CUDA graph, or compiled), copy out to
pinned memory, wait. Alone for itself (--load or --rate with --seconds or --requests), or directed by a
harness (--control, see control.py), which then hands it the arrivals.
"""

import argparse
import gc
import json
import sys
import time

from control import Control
from openloop import closed, median, play, poisson, read_arrivals

# Distinct inputs, taken in turn; the digest is over the answers to one round of them.
INPUTS = 20
SERVICE_REQUESTS = 200


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", choices=["bert-large", "resnet50"], default="bert-large")
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--sequence", type=int, default=384, help="tokens a sequence (bert-large)")
    parser.add_argument("--dtype", choices=["bf16", "fp32"], default="bf16")
    parser.add_argument("--form", choices=["eager", "graph", "compile"], default="graph")
    parser.add_argument("--await", dest="awaits", choices=["stream", "event"], default="stream")
    parser.add_argument("--load", type=float, help="rate = load / service time alone")
    parser.add_argument("--rate", type=float, help="requests per second")
    parser.add_argument("--arrivals", default="poisson", help="poisson, or file:PATH of ns offsets")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--requests", type=int, help="stop after so many")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--digest", action="store_true", help="exact arithmetic; print a SHA-256")
    parser.add_argument("--control", help="directory of a harness")
    parser.add_argument("--name", default="serve", help="what the harness calls this process")
    parser.add_argument("--json", help="write every request's times here")
    given = parser.parse_args()
    if not given.control and given.load is None and given.rate is None:
        if not given.arrivals.startswith("file:"):
            parser.error("one of --load, --rate, --control or --arrivals file:PATH is needed")
    return given


class Server:
    """The model on the GPU, and the memory of its one request."""

    def __init__(self, given):
        import torch

        from models import DTYPES, Inference, images, tokens

        self.torch = torch
        torch.set_grad_enabled(False)
        torch.manual_seed(given.seed)
        chance = torch.Generator().manual_seed(given.seed)
        dtype = DTYPES[given.dtype]
        if given.model == "resnet50":
            inputs = [images(given.batch, chance, dtype) for _ in range(INPUTS)]
        else:
            inputs = [
                tokens(given.model, given.batch, given.sequence, chance) for _ in range(INPUTS)
            ]
        self.inputs = [batch.pin_memory() for batch in inputs]
        self.model = Inference(given.model).to("cuda", dtype).eval()
        self.input = self.inputs[0].to("cuda")
        self.compute = self._form(given.form)
        self.done = torch.cuda.Event() if given.awaits == "event" else None
        answer = self.compute()
        self.answer = torch.empty(answer.shape, dtype=answer.dtype, pin_memory=True)
        torch.cuda.synchronize()

    def _form(self, form):
        """A function without parameters: from self.input to the answer, both on the GPU."""
        torch = self.torch
        model = torch.compile(self.model) if form == "compile" else self.model
        if form != "graph":
            return lambda: model(self.input)
        # As the manual of CUDAGraph asks: first a few times on a side stream.
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                model(self.input)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            answer = model(self.input)

        def replay():
            graph.replay()
            return answer

        return replay

    def serve(self, request):
        self.input.copy_(self.inputs[request % INPUTS], non_blocking=True)
        self.answer.copy_(self.compute(), non_blocking=True)
        if self.done is None:
            self.torch.cuda.current_stream().synchronize()
        else:
            self.done.record()
            self.done.synchronize()

    def answers(self):
        """The answers to one round of the inputs."""
        for request in range(INPUTS):
            self.serve(request)
            yield self.answer.clone()


def alone(server, given, service_ns, facts):
    if given.arrivals.startswith("file:"):
        offsets = read_arrivals(given.arrivals.removeprefix("file:"))
    else:
        rate = given.rate or given.load / (service_ns / 1e9)
        facts["rate"] = rate
        offsets = poisson(rate, given.seconds, given.seed)
    offsets = offsets[: given.requests]
    played = play(offsets, time.monotonic_ns() + 100_000_000, server.serve)
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            json.dump({**facts, **played}, file)
    for what in ("latency_ns", "service_ns"):
        times = sorted(played[what])
        at = [times[int(q * (len(times) - 1))] / 1e6 for q in (0.5, 0.95, 0.99)] if times else []
        print(f"{what[:-3]} p50 p95 p99 ms: {' '.join(f'{ms:.3f}' for ms in at)}")


def directed(server, given, service_ns, facts):
    control = Control(given.control, given.name)
    control.ready(**facts)
    for phase in control.phases():
        if phase.serve:
            played = play(read_arrivals(phase.arrivals), phase.start_ns, server.serve)
            control.report(phase, **played)


def main():
    given = options()
    if given.digest:
        from exact import make_exact

        make_exact(given.seed)
    server = Server(given)
    closed(30, server.serve)
    service_ns = median(closed(SERVICE_REQUESTS, server.serve))
    facts = {"model": given.model, "form": given.form, "service_p50_ns": service_ns}
    if given.digest:
        from exact import digest

        facts["digest"] = digest(server.answers())
        print(f"digest {facts['digest']}", flush=True)
    print(f"service alone p50 ms: {service_ns / 1e6:.3f}", file=sys.stderr, flush=True)
    # The collector would stop a request now and then; nothing here makes cycles.
    gc.collect()
    gc.disable()
    (directed if given.control else alone)(server, given, service_ns, facts)


if __name__ == "__main__":
    main()
