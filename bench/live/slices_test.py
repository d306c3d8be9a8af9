import csv
import tempfile
import unittest
from pathlib import Path

import slices

FIELDS = ["atUs", "announced", "us", "leftUs", "stoppedUs"]


class SlicesTest(unittest.TestCase):
    def test_cuts_at_the_end_of_slices_of_one_length_are_found(self):
        rows: list = [{"atUs": 0, "announced": 1, "us": 3000, "leftUs": 0, "stoppedUs": ""}]
        at = 10_000
        for i in range(60):
            # The slice that began when the last burst was over ends 100 us after each second burst begins.
            cut = i % 2 == 1
            since = 2090 * (2 + i % 7) - 100 if cut else 700 + 1000 * (i % 5)
            at += 3000 + since
            row = {"atUs": at, "announced": 0, "us": 3000, "leftUs": 300, "stoppedUs": 2800 if cut else 300}
            rows.append(row)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "pair.csv"
            with path.open("w", newline="") as file:
                table = csv.DictWriter(file, FIELDS)
                table.writeheader()
                table.writerows(rows)
            row = slices.row_of(path)
        self.assertEqual((row["met"], row["cut"]), (59, 30))
        self.assertAlmostEqual(row["sliceUs"], 2090, delta=20)
        self.assertEqual(max(row["cutByPart"]), 30)
        self.assertEqual(row["cutBeyondLeftUs"]["p50"], -300)


if __name__ == "__main__":
    unittest.main()
