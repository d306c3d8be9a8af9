import threading
import time
import unittest

from llm.directed import Asking, closed, play

MS = 1_000_000


class Batching:
    """Makes a token of each request every 5 ms, of all requests at the same time."""

    vocabulary = 32_000

    def __init__(self):
        self.prompts = []
        self.most = 0
        self._now = 0
        self._lock = threading.Lock()

    def generate(self, ids, max_tokens, ignore_eos):
        with self._lock:
            self.prompts.append(ids)
            self._now += 1
            self.most = max(self.most, self._now)
        for i in range(max_tokens):
            time.sleep(0.005)
            yield time.monotonic(), [i]
        with self._lock:
            self._now -= 1


class DirectedTest(unittest.TestCase):
    def test_requests_start_at_their_arrival_beside_others_and_their_tokens_are_timed(self):
        engine = Batching()
        start = time.monotonic_ns() + 5 * MS
        answer = play(Asking(engine, 50, 8, 4096, 1), [0, 10 * MS], start, lambda: True)
        self.assertEqual(answer["arrival_ns"], [start, start + 10 * MS])
        self.assertEqual(answer["tokens"], [8, 8])
        self.assertEqual(engine.most, 2)
        for first, latency in zip(answer["first_ns"], answer["latency_ns"]):
            self.assertGreaterEqual(first, 5 * MS)
            self.assertGreaterEqual(latency - first, 35 * MS)

    def test_a_change_of_phase_ends_it_with_what_was_asked(self):
        end = time.monotonic() + 0.02
        asking = Asking(Batching(), 50, 2, 4096, 1)
        answer = play(asking, [0, 10**12], time.monotonic_ns(), lambda: time.monotonic() < end)
        self.assertEqual(answer["tokens"], [2])

    def test_back_to_back_so_many_are_under_way(self):
        engine = Batching()
        end = time.monotonic() + 0.1
        answer = closed(Asking(engine, 50, 2, 4096, 1), 3, lambda: time.monotonic() < end)
        self.assertEqual(engine.most, 3)
        self.assertEqual(len(answer["done_ns"]), len(engine.prompts))
        self.assertEqual(answer["done_ns"], sorted(answer["done_ns"]))

    def test_a_request_that_fails_ends_it_with_the_reason(self):
        class Broken(Batching):
            def generate(self, ids, max_tokens, ignore_eos):
                raise RuntimeError("the engine has ended")
                yield

        asking = Asking(Broken(), 50, 2, 4096, 1)
        with self.assertRaisesRegex(RuntimeError, "the engine has ended"):
            play(asking, [0, 1], time.monotonic_ns(), lambda: True)
        with self.assertRaisesRegex(RuntimeError, "the engine has ended"):
            closed(asking, 2, lambda: True)

    def test_a_request_has_the_same_prompt_in_every_window_and_fits(self):
        asking = Asking(Batching(), 512, 128, 700, 7)
        prompts = [asking.prompt(i) for i in range(400)]
        self.assertEqual(prompts, [asking.prompt(i) for i in range(400)])
        lengths = [len(prompt) for prompt in prompts]
        self.assertLessEqual(max(lengths), 700 - 128)
        self.assertGreater(len(set(lengths)), 100)
        wide = [len(Asking(Batching(), 512, 128, 10**6, 7).prompt(i)) for i in range(400)]
        self.assertAlmostEqual(sum(wide) / len(wide), 512, delta=80)


if __name__ == "__main__":
    unittest.main()
