import math
import unittest

from stats import mean_ratio, progress, quantile, rate, slowdown


class Stats(unittest.TestCase):
    def test_quantile_is_nearest_rank(self):
        self.assertEqual(quantile(range(1, 101), 0.99), 99)
        self.assertEqual(quantile([7], 0.5), 7)
        self.assertTrue(math.isnan(quantile([], 0.5)))

    def test_progress_counts_the_iteration_under_way_by_its_fraction(self):
        self.assertEqual([progress([10, 20, 40], t) for t in (5, 10, 15, 30, 99)], [0, 1, 1.5, 2.5, 3])

    def test_rate_does_not_depend_on_where_the_window_falls(self):
        done = [int(i * 0.1e9) for i in range(100)]
        for start in (1.0e9, 1.03e9, 1.099e9):
            self.assertAlmostEqual(rate(done, start, start + 3.05e9), 10)

    def test_slowdown_of_a_constant_factor_is_that_factor(self):
        rounds = [[(i, 2 * i) for i in range(1, 101)]] * 3
        for q in (0.5, 0.99):
            found = slowdown(rounds, q)
            self.assertEqual((found["value"], found["low"], found["high"]), (2, 2, 2))
            self.assertEqual(found["rounds"], [2, 2, 2])

    def test_interval_holds_the_value_and_widens_with_spread(self):
        rounds = [[(10 + i % 7, 12 + (i * i) % 11) for i in range(200)]]
        found = slowdown(rounds, 0.95)
        self.assertLessEqual(found["low"], found["value"])
        self.assertGreaterEqual(found["high"], found["value"])

    def test_mean_ratio_pools_rounds(self):
        found = mean_ratio([(10, 5), (20, 15)])
        self.assertAlmostEqual(found["value"], 20 / 30)
        self.assertEqual(found["rounds"], [0.5, 0.75])
        self.assertTrue(0.5 <= found["low"] <= found["high"] <= 0.75)


if __name__ == "__main__":
    unittest.main()
