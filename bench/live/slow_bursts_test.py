import tempfile
import unittest
from pathlib import Path

import diary
import slow_bursts as sb

CHUNK_US = 100
REQUEST_US = 3000


class Written:
    """A best-effort client's, with kernels of one length between borders, and a request now and then."""

    def __init__(self):
        self.records = []
        self.now = 10**9
        self.number = 0

    def add(self, what, at, key=0, number=0, expected_us=0):
        shape = (64, 1, 1, 128, 1, 1)
        self.records.append(diary.RECORD.pack(what, 0, 0, at, key, number, expected_us * 1000, *shape))

    def submit(self, us):
        """A border and a kernel behind it, long before the GPU gets there."""
        self.number += 1
        self.add(diary.BORDER, self.now - 5_000_000, key=1, number=self.number)
        self.add(diary.LAUNCH, self.now - 5_000_000, key=4096 + us, expected_us=us)

    def run(self, us):
        self.submit(us)
        self.add(diary.MARK, self.now, number=self.number)
        self.now += us * 1000

    def request(self, kernel_us, at_us, hold_us=1, stopped_us=None, longer_us=0):
        """One that begins `at_us` after a kernel did; a kernel that is cut stops later than it would by itself."""
        self.submit(kernel_us)
        self.add(diary.MARK, self.now, number=self.number)
        begun = self.now + at_us * 1000
        self.add(diary.HOLD, begun + hold_us * 1000, number=1)
        left = kernel_us - at_us
        self.submit(50)
        self.add(diary.MARK, begun + (stopped_us or left) * 1000, number=self.number)
        ended = begun + (REQUEST_US + left + longer_us) * 1000
        self.add(diary.BURST, ended, key=begun, expected_us=CHUNK_US)
        self.add(diary.HOLD, ended + 150_000, number=0)
        self.now = ended + 350_000

    def written(self, folder):
        path = Path(folder) / "diary"
        order = sorted(range(len(self.records)), key=lambda i: diary.RECORD.unpack(self.records[i])[3])
        head = (
            b"COTCHUNK"
            + (64).to_bytes(4, "little")
            + (1 << 20).to_bytes(4, "little")
            + len(order).to_bytes(8, "little")
        )
        path.write_bytes(head.ljust(64, b"\0") + b"".join(self.records[i] for i in order))
        Path(f"{path}.names").write_text(f"{4096 + 80:x} short\n{4096 + 700:x} long\n")
        return str(path)


class SlowBurstsTest(unittest.TestCase):
    def rows(self, slow):
        kept = Written()
        for _ in range(60):
            for us in (80, 80, 700, 80):
                kept.run(us)
            kept.request(80, 40)
        slow(kept)
        for us in (80, 80, 700, 80):
            kept.run(us)
        with tempfile.TemporaryDirectory() as folder:
            return list(sb.rows_of("pair", [kept.written(folder)], 0.01, None))

    def cause_of(self, slow):
        rows = self.rows(slow)
        [cause] = [row for row in rows if "p99UsWithout" in row]
        return cause

    def test_a_long_kernel_is_named_with_what_was_left_of_it(self):
        cause = self.cause_of(lambda kept: kept.request(700, 100))
        self.assertEqual(cause["cause"], "one undividable launch")
        self.assertEqual(cause["bursts"], 1)
        self.assertAlmostEqual(cause["leftP50Us"], 600, delta=2)
        self.assertAlmostEqual(cause["longestUs"], 560, delta=2)
        self.assertEqual(cause["what"], [("long [64x1x1]", 1)])

    def test_a_kernel_that_was_put_off_in_its_middle_is_told(self):
        cause = self.cause_of(lambda kept: kept.request(80, 40, stopped_us=2500, longer_us=460))
        self.assertEqual(cause["cause"], "put off in its middle by the time slice")

    def test_a_late_hold_is_told(self):
        cause = self.cause_of(lambda kept: kept.request(700, 100, hold_us=90))
        self.assertEqual(cause["cause"], "hold stored late")

    def test_a_service_that_was_slow_by_itself_is_told(self):
        cause = self.cause_of(lambda kept: kept.request(80, 40, longer_us=300))
        self.assertEqual(cause["cause"], "stopped in time, yet slow")


if __name__ == "__main__":
    unittest.main()
