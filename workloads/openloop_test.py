import tempfile
import time
import unittest

from openloop import GRACE_US, Streamed, closed, play, poisson, read_arrivals, wait_until

MS = 1_000_000


class OpenLoopTest(unittest.TestCase):
    def test_poisson_is_fixed_by_the_seed_and_keeps_the_rate(self):
        offsets = poisson(1000, 5, seed=3)
        self.assertEqual(offsets, poisson(1000, 5, seed=3))
        self.assertNotEqual(offsets, poisson(1000, 5, seed=4))
        self.assertEqual(offsets, sorted(offsets))
        self.assertLess(offsets[-1], 5e9)
        self.assertAlmostEqual(len(offsets) / 5000, 1, delta=0.1)

    def test_arrivals_are_read_without_comments_and_blank_lines(self):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("# ns\n10\n\n20\n")
            file.flush()
            self.assertEqual(read_arrivals(file.name), [10, 20])

    def test_requests_start_when_they_arrive_and_late_ones_at_once(self):
        begun = []

        def serve(i):
            begun.append(time.monotonic_ns())
            time.sleep(0.03 if i == 0 else 0)

        start = time.monotonic_ns() + 5 * MS
        played = play([0, 10 * MS, 60 * MS], start, serve)
        self.assertEqual(played["arrival_ns"], [start, start + 10 * MS, start + 60 * MS])
        self.assertTrue(all(at >= start + offset for at, offset in zip(begun, (0, 10 * MS, 60 * MS))))
        # The second waited for the first: its latency holds that, its service time does not.
        self.assertGreater(played["latency_ns"][1], 15 * MS)
        self.assertLess(played["service_ns"][1], 15 * MS)

    def test_what_a_request_waited_for_its_answer_is_known_where_the_service_tells(self):
        def serve(i):
            time.sleep(0.03)
            submitted = time.monotonic_ns()
            time.sleep(0.01)
            return submitted

        played = play([0], time.monotonic_ns(), serve)
        self.assertGreaterEqual(played["waited_ns"][0], 10 * MS)
        self.assertLessEqual(played["waited_ns"][0], played["service_ns"][0] - 30 * MS)
        self.assertNotIn("waited_ns", play([0], time.monotonic_ns(), lambda i: None))

    def test_the_first_token_is_timed_from_the_arrival(self):
        def serve(i):
            time.sleep(0.01)
            first = time.monotonic_ns()
            time.sleep(0.01)
            return Streamed(first, 5)

        played = play([0], time.monotonic_ns(), serve)
        self.assertGreaterEqual(played["first_ns"][0], 10 * MS)
        self.assertLessEqual(played["first_ns"][0], played["latency_ns"][0] - 10 * MS)
        self.assertEqual(played["tokens"], [5])
        self.assertNotIn("waited_ns", played)

    def test_a_change_of_phase_ends_it_with_what_was_served(self):
        end = time.monotonic() + 0.05
        played = play([0, 10**12], time.monotonic_ns(), lambda i: None, lambda: time.monotonic() < end)
        self.assertEqual(len(played["latency_ns"]), 1)
        self.assertLess(time.monotonic(), end + 1)

    def test_a_wait_that_is_no_longer_wanted_says_so(self):
        self.assertFalse(wait_until(time.monotonic_ns() + 10**12, lambda: False))
        self.assertFalse(wait_until(0, lambda: False))
        self.assertTrue(wait_until(0))

    def test_requests_are_announced_ahead_or_at_once(self):
        log = []
        start = time.monotonic_ns() + 20 * MS

        def announce(us):
            log.append(("announced", us, time.monotonic_ns() - start))

        def serve(i):
            log.append(("served", i, time.monotonic_ns() - start))
            time.sleep(0.02)

        play([0, 15 * MS], start, serve, announce=announce, ahead_us=2000)
        self.assertEqual([what for what, _, _ in log], ["announced", "served"] * 2)
        (_, first_us, first_at), _, (_, late_us, late_at), _ = log
        self.assertGreaterEqual(first_at, -2 * MS)
        self.assertLessEqual(first_us, 2000 + GRACE_US)
        # The second came while the first was served: no time is left.
        self.assertGreater(late_at, 15 * MS)
        self.assertEqual(late_us, GRACE_US)

    def test_a_closed_loop_goes_on_while_it_may(self):
        left = iter(range(3))
        served = []
        answer = closed(served.append, lambda: next(left, None) is not None)
        self.assertEqual(served, [0, 1, 2])
        self.assertEqual(len(answer["done_ns"]), 3)


if __name__ == "__main__":
    unittest.main()
