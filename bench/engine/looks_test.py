import json
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from looks import rows_of

RULES = {
    "graceUs": 0,
    "graceLaunches": 620,
    "coRunSliceUs": 0,
    "coRunEveryUs": 0,
    "coRunUntilUs": 0,
    "coRunUntilLaunches": 0,
    "chunkUs": 400,
    "resumeDelayUs": 150,
    "protect": 1,
}
SERVICE = {"activeShare": 0.25, "bursts": 7, "gaps": {"state": "held", "level": 2}, "pid": 1}


def gpu(**change):
    return {"served": {"rules": RULES}, "high": [SERVICE], "bestEffort": [{"gpuShare": 0.6}], **change}


class Rows(unittest.TestCase):
    def test_has_rules_service_and_job(self):
        (row,) = rows_of({"gpus": [gpu()]})
        self.assertEqual((row["graceLaunches"], row["gaps"]["level"], row["gpuShare"]), (620, 2, 0.6))
        self.assertNotIn("pid", row)
        self.assertNotIn("protect", row)
        json.dumps(row)

    def test_a_service_without_a_job_has_a_row_and_a_gpu_without_a_service_none(self):
        (row,) = rows_of({"gpus": [gpu(bestEffort=[]), gpu(high=[]), gpu(served=None)]})
        self.assertIsNone(row["gpuShare"])
        self.assertEqual(row["activeShare"], 0.25)


if __name__ == "__main__":
    unittest.main()
