import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from engine_start import iterations_between, kept_by_stage


class IterationsBetween(unittest.TestCase):
    def test_whole_ones_count_one(self):
        self.assertEqual(iterations_between([10, 20, 30, 40], 10, 40), 3)

    def test_a_part_counts_by_its_part(self):
        self.assertAlmostEqual(iterations_between([10, 20, 30, 40], 15, 32), 1.7)

    def test_nothing_counts_outside(self):
        self.assertEqual(iterations_between([10, 20], 30, 50), 0)
        self.assertEqual(iterations_between([10, 20], 0, 5), 0)


class KeptByStage(unittest.TestCase):
    def test_a_stage_at_half_the_speed_keeps_half(self):
        done = [*range(0, 100, 10), *range(100, 301, 20)]
        self.assertEqual(kept_by_stage([("slow", 90, 290)], done), {"slow": 0.525})


if __name__ == "__main__":
    unittest.main()
