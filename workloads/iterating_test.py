import unittest

from iterating import WARM_UP, Job


class Event:
    def __init__(self, at_ms):
        self.at_ms = at_ms

    def synchronize(self):
        pass


class Counting(Job):
    """Each step takes 2 ms on a GPU that there is not."""

    def __init__(self):
        self.steps = 0
        self.waits = 0

    def step(self):
        self.steps += 1

    def event(self):
        return Event(2 * self.steps)

    def elapsed_ms(self, begin, end):
        return end.at_ms - begin.at_ms

    def synchronize(self):
        self.waits += 1

    def observed(self, clock):
        return {"first": clock.ns(Event(2 * (WARM_UP + 1)))}


class JobTest(unittest.TestCase):
    def test_it_iterates_as_long_as_it_is_told(self):
        job = Counting()
        job.warm_up()
        self.assertEqual((job.steps, job.waits), (WARM_UP, 1))
        left = iter(range(4))
        answer = job.iterate(lambda: next(left, None) is not None)
        done = answer["done_ns"]
        self.assertEqual([after - done[0] for after in done], [0, 2_000_000, 4_000_000, 6_000_000])
        self.assertEqual(answer["first"], done[0])
        self.assertEqual(job.waits, 3)


if __name__ == "__main__":
    unittest.main()
