"""Latency-critical inference: each request is one batch, or one token of a decoder.

A request is: copy in from pinned memory, the model (eager, one CUDA graph, or compiled), copy out to
pinned memory, wait. Alone for itself, or directed by a harness (--control): see serving.py.
"""

import gc
import sys
import time

import serving
from check import Parser
from models import MODELS, SERVED, inference, torch_dtype

# Distinct inputs, taken in turn; the digest is over the answers to one round of them.
INPUTS = 20


def options(argv=None, prog="serve.py"):
    parser = Parser(prog, __doc__)
    add = parser.add_argument
    add("--model", default="bert-large", help=", ".join(SERVED))
    add("--batch", type=int, help="the model's own default otherwise")
    add("--sequence", type=int, help="tokens of a text, points of a cloud")
    add("--dtype", choices=["bf16", "fp32"], help="default: bf16")
    add("--tokens", type=int, help="a decoder makes so many in one request (default: 1)")
    add("--context", type=int, help="and its cache holds so many (default: 512)")
    add("--form", choices=["eager", "graph", "compile"], default="graph")
    add("--await", dest="awaits", choices=["stream", "event"], default="stream")
    add("--digest", action="store_true", help="exact arithmetic; print a SHA-256")
    serving.add_options(parser, "serve")
    given = parser.parse_args(argv)
    default = parser.look_up(given.model, SERVED)
    wanted = {what: getattr(given, what) for what in ("batch", "sequence", "tokens", "context")}
    given.shape = parser.shape(default, dtype=given.dtype, **wanted)
    serving.validate(parser, given)
    return parser.checked(given, MODELS[given.model].packages)


class Server:
    """The model on the GPU, and the memory of its one request. Works on the current stream."""

    def __init__(self, given):
        import torch

        self.torch = torch
        self.given = given
        torch.set_grad_enabled(False)
        torch.manual_seed(given.seed)
        chance = torch.Generator().manual_seed(given.seed)
        self.model, example = inference(given.model, given.shape)
        self.inputs = [self._kept(example(chance)) for _ in range(INPUTS)]
        self.input = self.inputs[0].to("cuda")
        self.compute = self._form(given.form)
        self.done = torch.cuda.Event() if given.awaits == "event" else None
        answer = self.compute()
        self.answer = torch.empty(answer.shape, dtype=answer.dtype, pin_memory=True)
        torch.cuda.current_stream().synchronize()

    def _kept(self, one):
        if one.is_floating_point():
            one = one.to(torch_dtype(self.given.shape.dtype))
        return one.pin_memory()

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
        # A graph's kernels keep the priority of the stream they were captured on. The default stream has
        # none and can't be captured.
        own = torch.cuda.current_stream()
        own = None if own == torch.cuda.default_stream() else own
        with torch.cuda.graph(graph, stream=own):
            answer = model(self.input)

        def replay():
            graph.replay()
            return answer

        return replay

    def serve(self, request):
        """Returns when everything was submitted."""
        self.input.copy_(self.inputs[request % INPUTS], non_blocking=True)
        self.answer.copy_(self.compute(), non_blocking=True)
        if self.done:
            self.done.record()
        submitted = time.monotonic_ns()
        (self.done or self.torch.cuda.current_stream()).synchronize()
        return submitted

    def answers(self):
        """The answers to one round of the inputs."""
        for request in range(INPUTS):
            self.serve(request)
            yield self.answer.clone()

    def facts(self):
        given = self.given
        return {
            "label": f"{given.model} {given.shape} {given.form}",
            "model": given.model,
            "form": given.form,
            "batch": given.shape.batch,
            "dtype": given.shape.dtype,
            "memory_bytes": self.torch.cuda.memory_reserved(),
        }


def main():
    given = options()
    if given.digest:
        from exact import make_exact

        make_exact(given.seed)
    server = Server(given)
    serving.warm_up(server.serve)
    facts = server.facts()
    if given.digest:
        from exact import digest

        facts["digest"] = digest(server.answers())
        print(f"digest {facts['digest']}", flush=True)
    print(f"{facts['label']} ready", file=sys.stderr, flush=True)
    # The collector would stop a request now and then; nothing here makes cycles.
    gc.collect()
    gc.disable()
    serving.run(server.serve, given, facts)


if __name__ == "__main__":
    main()
