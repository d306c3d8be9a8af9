"""A diffusion transformer that makes an image in many steps from noise: an image service without batching.

A request is: noise and a class to the GPU, so many passes of the network, each of which removes a part of the noise,
and the latent image back. The network is that of Peebles and Xie, "Scalable Diffusion Models with Transformers" (2023),
with patches of 2 x 2, a latent of 4 x 32 x 32 and random weights. With guidance each pass sees two inputs, with the
class and without it.
"""

import sys

import serving
from check import Parser

# Layers, width, heads: table 1 of the paper; tiny is for a look on a CPU.
SIZES = {
    "dit-s": (12, 384, 6),
    "dit-b": (12, 768, 12),
    "dit-l": (24, 1024, 16),
    "dit-xl": (28, 1152, 16),
    "tiny": (2, 64, 2),
}
# A request takes seconds.
WARM_UP = 3


def options(argv=None):
    parser = Parser("diffusion.py", __doc__)
    add = parser.add_argument
    add("--model", default="dit-xl", help=", ".join(SIZES))
    add("--steps", type=int, default=50, help="passes for an image")
    add("--latent", type=int, default=32, help="height and width of the latent; 32 stands for 256 pixels")
    add("--no-guidance", action="store_true", help="one input a pass in place of two")
    add("--form", choices=["eager", "graph"], default="eager", help="graph: each pass as one CUDA graph")
    add("--device", choices=["cuda", "cpu"], default="cuda")
    serving.add_options(parser, "diffusion")
    given = parser.parse_args(argv)
    parser.look_up(given.model, SIZES)
    if given.steps < 1 or given.latent < 2 or given.latent % 2:
        parser.error("--steps must be at least 1, --latent even and at least 2")
    if given.form == "graph" and given.device == "cpu":
        parser.error("--form graph needs a GPU")
    serving.validate(parser, given)
    return parser.checked(given, ("torch",))


class Service:
    def __init__(self, given):
        import torch
        from models.dit import DiT

        torch.set_grad_enabled(False)
        self.torch = torch
        self.given = given
        torch.manual_seed(given.seed)
        self.dtype = torch.float32 if given.device == "cpu" else torch.bfloat16
        self.inputs = 1 if given.no_guidance else 2
        self.model = DiT(*SIZES[given.model], given.latent).to(given.device, self.dtype).eval()
        shape = (1, 4, given.latent, given.latent)
        self.latent = torch.zeros(shape, device=given.device, dtype=self.dtype)
        self.time = torch.zeros(1, device=given.device, dtype=self.dtype)
        self.label = torch.zeros(self.inputs, device=given.device, dtype=torch.long)
        self.noise = torch.Generator().manual_seed(given.seed)
        self.step = self._captured() if given.form == "graph" else self._step

    def _step(self):
        """Removes a part of the noise from self.latent."""
        seen = self.model(self.latent.expand(self.inputs, -1, -1, -1), self.time, self.label)
        noise = seen[:1] if self.inputs == 1 else seen[1:] + 4.0 * (seen[:1] - seen[1:])
        self.latent.sub_(noise / self.given.steps)

    def _captured(self):
        torch = self.torch
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self._step()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self._step()
        return graph.replay

    def serve(self, request):
        self.latent.copy_(self.torch.randn(self.latent.shape, generator=self.noise))
        # The last class stands for none.
        self.label[0] = request % 1000
        self.label[1:] = 1000
        for i in range(self.given.steps, 0, -1):
            self.time.fill_(1000 * i / self.given.steps)
            self.step()
        # Waits for the GPU.
        self.latent.cpu()

    def facts(self):
        given = self.given
        return {
            "label": f"{given.model} {given.steps} steps {given.form}",
            "model": given.model,
            "form": given.form,
            "batch": 1,
            "dtype": "fp32" if given.device == "cpu" else "bf16",
            "memory_bytes": self.torch.cuda.memory_reserved() if given.device == "cuda" else 0,
        }


def main():
    given = options()
    service = Service(given)
    serving.warm_up(service.serve, WARM_UP)
    facts = service.facts()
    print(f"{facts['label']} ready", file=sys.stderr, flush=True)
    serving.run(service.serve, given, facts)


if __name__ == "__main__":
    main()
