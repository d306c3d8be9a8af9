"""Best-effort numerical work in CuPy: A X = B, solved again and again by Richardson's method.

An iteration is --steps times a matrix product (cuBLAS) and an element-wise update (a kernel that CuPy
compiles through NVRTC), and the norm of what is left, which is read every --sync-every iterations. How it
is led: iterating.py.
"""

import iterating
from check import Parser
from iterating import Job


def options():
    parser = Parser("cupy_train.py", __doc__)
    add = parser.add_argument
    add("--size", type=int, default=4096, help="rows of A")
    add("--columns", type=int, default=1024, help="columns of B")
    add("--steps", type=int, default=20, help="products in one iteration")
    iterating.add_options(parser, "cupy-train")
    return parser.checked(parser.parse_args(), ("cupy", "numpy"))


class Solver(Job):
    def __init__(self, given):
        import cupy
        import numpy

        self.cupy = cupy
        self.given = given
        chance = numpy.random.default_rng(given.seed)

        def normal(*shape):
            return cupy.asarray(chance.standard_normal(shape, dtype=numpy.float32))

        size = given.size
        # Eigenvalues lie in a disk of radius 1/4 around 1: it converges.
        self.a = cupy.eye(size, dtype=cupy.float32) + normal(size, size) * (0.25 / size**0.5)
        self.b = normal(size, given.columns)
        self.x = cupy.zeros_like(self.b)
        self.product = cupy.empty_like(self.b)
        self.update = cupy.ElementwiseKernel("T b, T product", "T x", "x += (T)0.9 * (b - product)", "richardson")
        self.iterations = 0

    def step(self):
        cupy = self.cupy
        self.x.fill(0)
        for _ in range(self.given.steps):
            cupy.matmul(self.a, self.x, out=self.product)
            self.update(self.b, self.product, self.x)
        left = cupy.sqrt(cupy.square(self.b - self.product).sum())
        self.iterations += 1
        if self.given.sync_every and self.iterations % self.given.sync_every == 0:
            float(left)

    def event(self):
        event = self.cupy.cuda.Event()
        event.record()
        return event

    def elapsed_ms(self, begin, end):
        return self.cupy.cuda.get_elapsed_time(begin, end)

    def synchronize(self):
        self.cupy.cuda.get_current_stream().synchronize()

    def facts(self):
        given = self.given
        return {
            "label": f"cupy solver {given.size} x {given.columns} fp32",
            "model": "richardson",
            "batch": given.columns,
            "dtype": "fp32",
            "memory_bytes": self.cupy.get_default_memory_pool().total_bytes(),
        }


def main():
    given = options()
    iterating.run(Solver(given), given)


if __name__ == "__main__":
    main()
