"""Does everything here run on this GPU? Each model once in each form, one training iteration each, then the
programs that a harness leads, through one short phase.

One line a case, and on after a failure; exits 1 if any failed. About three minutes on an H200.
"""

import contextlib
import gc
import json
import os
import subprocess
import sys
import tempfile
import time

import serve
import train
from check import Parser
from control import write_whole
from models import SERVED, TRAINED

HERE = os.path.dirname(os.path.abspath(__file__))
REQUESTS = 10
ITERATIONS = 3
READY_SECONDS = 120
ANSWER_SECONDS = 30


def options():
    parser = Parser("try_all.py", __doc__)
    parser.add_argument("--only", nargs="*", default=[], help="cases whose name has one of these in it")
    parser.add_argument("--compile", action="store_true", help="compile every model, not only resnet50")
    return parser.checked(parser.parse_args(), ("torch", "torchvision", "transformers"))


def main():
    given = options()
    failed = 0
    for name, case in cases(given):
        if not given.only or any(part in name for part in given.only):
            failed += not tried(name, case)
    print(f"{failed} failed", flush=True)
    return 1 if failed else 0


def cases(given):
    """Names, and functions that return milliseconds."""
    for model in SERVED:
        forms = ["eager", "graph"]
        if given.compile or model == "resnet50":
            forms.append("compile")
        for form in forms:
            yield f"serve {model} {form}", lambda m=model, f=form: request_ms(m, f)
    for model in TRAINED:
        yield f"train {model}", lambda m=model: iteration_ms(m)
    for name, (line, parts) in LED.items():
        yield f"led {name}", lambda a=line, p=parts: led_ms(a, p)


def tried(name, case):
    start = time.monotonic()
    try:
        ms, reason = case(), None
    except Exception as fault:
        first = (str(fault).strip() or "no message").splitlines()[0]
        ms, reason = None, f"{type(fault).__name__}: {first}"
    took = time.monotonic() - start
    said = f"ok      {ms:9.3f} ms" if reason is None else f"failed  {reason}"
    print(f"{name:28} {took:5.1f} s  {said}", flush=True)
    free()
    return reason is None


def free():
    """A failed case may have left anything behind."""
    import torch

    torch.set_grad_enabled(True)
    gc.collect()
    with contextlib.suppress(Exception):
        torch.compiler.reset()
        torch.cuda.synchronize()
        torch.cuda.empty_cache()


def request_ms(model, form):
    server = serve.Server(serve.options(["--model", model, "--form", form]))
    return median_ms(server.serve, REQUESTS)


def iteration_ms(model):
    trainer = train.Trainer(train.options(["--model", model, "--marks"]))
    trainer.step()
    left = iter(range(ITERATIONS))
    answer = trainer.iterate(lambda: next(left, None) is not None)
    if len(answer["done_ns"]) != ITERATIONS or len(answer["borders"]) != 3 * ITERATIONS:
        raise AssertionError(f"it reports {len(answer['borders'])} borders")
    return (answer["done_ns"][-1] - answer["done_ns"][0]) / (ITERATIONS - 1) / 1e6


def median_ms(serve_one, count):
    times = []
    for i in range(count):
        start = time.monotonic_ns()
        serve_one(i)
        times.append(time.monotonic_ns() - start)
    return sorted(times)[count // 2] / 1e6


# Programs, and by job whether it gets arrivals.
LED = {
    "serve": (["serve.py", "--model", "resnet50", "--name", "a"], {"a": True}),
    "serve offline": (["serve.py", "--model", "resnet50", "--name", "a"], {"a": False}),
    "generate": (["generate.py", "--tokens", "8", "--name", "a"], {"a": True}),
    "diffusion": (["diffusion.py", "--model", "dit-s", "--steps", "10", "--name", "a"], {"a": True}),
    "diffusion graph": (
        ["diffusion.py", "--model", "dit-s", "--steps", "10", "--form", "graph", "--name", "a"],
        {"a": True},
    ),
    "train": (["train.py", "--model", "resnet50", "--name", "b"], {"b": False}),
    "jax_serve": (["jax_serve.py", "--name", "a"], {"a": True}),
    "cupy_train": (["cupy_train.py", "--name", "b"], {"b": False}),
    "streams": (
        ["streams.py", "--high", "--model resnet50", "--best-effort", "--model resnet50"]
        + ["--high-name", "a", "--best-effort-name", "b"],
        {"a": True, "b": False},
    ),
}


def led_ms(line, parts):
    """Leads a program through two seconds as a harness would: the median time of what it did."""
    with tempfile.TemporaryDirectory() as directory:
        arrivals = os.path.join(directory, "arrivals")
        write_whole(arrivals, "".join(f"{i * 50_000_000}\n" for i in range(30)))
        command = [sys.executable, os.path.join(HERE, line[0]), *line[1:], "--control", directory]
        log = os.path.join(directory, "log")
        with open(log, "wb") as said:
            process = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT)
        try:
            return led(process, directory, {name: arrivals if a else None for name, a in parts.items()})
        except Died:
            with open(log, encoding="utf-8", errors="replace") as said:
                last = said.read().strip().splitlines()[-1:] or ["it said nothing"]
            raise RuntimeError(last[0]) from None
        finally:
            process.kill()
            process.wait()


class Died(Exception):
    pass


def led(process, directory, parts):
    def wait_for(name, seconds):
        path = os.path.join(directory, name)
        end = time.monotonic() + seconds
        while not os.path.exists(path):
            if process.poll() is not None:
                raise Died
            if time.monotonic() > end:
                raise TimeoutError(f"no {name} within {seconds} s")
            time.sleep(0.01)
        with open(path, encoding="utf-8") as file:
            return json.load(file)

    def say(**phase):
        write_whole(os.path.join(directory, "phase"), json.dumps(phase))

    for name in parts:
        wait_for(f"{name}.ready", READY_SECONDS)
    jobs = {name: {"arrivals": path} if path else {} for name, path in parts.items()}
    say(id=0, start_ns=time.monotonic_ns() + 300_000_000, seconds=2, jobs=jobs, quit=False)
    time.sleep(2)
    say(id=1, start_ns=0, seconds=0, jobs={}, quit=False)
    answers = [wait_for(f"{name}.0.json", ANSWER_SECONDS) for name in parts]
    say(id=2, start_ns=0, seconds=0, jobs={}, quit=True)
    if process.wait(ANSWER_SECONDS) != 0:
        raise Died
    times = answers[0].get("service_ns") or gaps(answers[0]["done_ns"])
    return sorted(times)[len(times) // 2] / 1e6


def gaps(times):
    return [after - before for before, after in zip(times, times[1:], strict=False)]


if __name__ == "__main__":
    sys.exit(main())
