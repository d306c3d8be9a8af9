import json
import math
import os
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from vllm_objectives import broken_windows, over, quantile, runs_of, steps_per_s


def requests(tpot, every=1.0):
    return [{"atS": i * every, "ttftMs": 20.0, "tpotMs": ms} for i, ms in enumerate(tpot)]


class Quantiles(unittest.TestCase):
    def test_a_quantile_is_a_value_that_was_seen(self):
        self.assertEqual(quantile([4, 1, 3, 2], 0.5), 2)
        self.assertEqual(quantile(range(1, 101), 0.99), 99)
        self.assertTrue(math.isnan(quantile([], 0.5)))

    def test_a_ratio_compares_equal_requests_and_has_an_interval_around_it(self):
        alone = requests([float(10 + i % 7) for i in range(200)])
        plain = [{**one, "tpotMs": 1.1 * one["tpotMs"]} for one in alone]
        ratio, low, high = over(plain, alone, "tpotMs")["0.5"]
        self.assertAlmostEqual(ratio, 1.1)
        self.assertTrue(low <= ratio <= high)

    def test_requests_without_a_second_token_have_no_tpot_to_compare(self):
        alone = requests([10.0] * 20)
        plain = [{**one, "tpotMs": None if i % 2 else 12.0} for i, one in enumerate(alone)]
        self.assertAlmostEqual(over(plain, alone, "tpotMs")["0.5"][0], 1.2)


class Windows(unittest.TestCase):
    def test_one_slow_request_breaks_its_window_and_no_other(self):
        times = [9.0] * 30
        times[15] = 50.0
        self.assertEqual(broken_windows(requests(times), {"tpot": 10.0, "ttft": 30.0}, 29), (3, 1))
        self.assertEqual(broken_windows(requests(times), {"tpot": 10.0, "ttft": 30.0}, 30, 1), (30, 1))

    def test_a_window_without_requests_does_not_count(self):
        early = requests([9.0] * 5)
        late = [{**one, "atS": one["atS"] + 20} for one in early]
        self.assertEqual(broken_windows(early + late, {"tpot": 10.0}, 25), (2, 0))


class Runs(unittest.TestCase):
    def test_steps_are_counted_within_the_window_alone(self):
        log = [(second, 10 * second) for second in range(100)]
        self.assertEqual(steps_per_s(log, 20, 50), 10)
        self.assertIsNone(steps_per_s(log, 200, 300))

    def test_each_run_has_its_times_its_windows_and_the_trainings_rate(self):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder)
            (out / "4.limits").write_text("ttft.p99=30.00ms tpot.p99=10.000ms\n", "utf8")
            (out / "training.log").write_text("".join(f"{n * 10**9} step {5 * n} loss 1\n" for n in range(100)), "utf8")
            for name, tpot in (("alone", 8.0), ("cotenant", 12.0)):
                lines = "".join(json.dumps(one) + "\n" for one in requests([tpot] * 30))
                (out / f"4-{name}.requests").write_text(lines, "utf8")
                (out / f"4-{name}.window").write_text(f"{10 * 10**9}\n{60 * 10**9}\n", "utf8")
            alone, cotenant = runs_of(out, "4", 15)
        self.assertEqual((alone["run"], alone["windows"], alone["broken"]), ("alone", 3, 0))
        self.assertEqual((cotenant["run"], cotenant["broken"], cotenant["brokenSeconds"]), ("cotenant", 3, 30))
        self.assertEqual(cotenant["tpotMs"]["0.99"], 12.0)
        self.assertEqual(cotenant["trainingStepsPerS"], 5)


if __name__ == "__main__":
    unittest.main()
