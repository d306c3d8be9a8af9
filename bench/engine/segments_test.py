import os
import struct
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from segments import PROTOCOL, Layout, Ring, relative, segment_row

RECORDS, WORDS = 4, 2


class Layouts(unittest.TestCase):
    def test_has_both_rings_of_the_header_that_the_interposer_has(self):
        layout = Layout(PROTOCOL)
        for struct_name, kind in (("HighSlot", "segment"), ("BestEffortSlot", "slice")):
            count, records, length, words = layout.ring(struct_name, kind)
            self.assertEqual((records - count, words), (8, 4))
            self.assertGreater(length, 1)


class Rings(unittest.TestCase):
    def setUp(self):
        self.file = tempfile.TemporaryFile()
        self.addCleanup(self.file.close)
        self.write(0, 0)
        self.ring = Ring(self.file.fileno(), (0, 8, RECORDS, WORDS))

    def write(self, begin, end):
        """Records n = [n, 10 n], as a client writes them."""
        for number in range(begin, end):
            os.pwrite(self.file.fileno(), struct.pack("<2Q", number, 10 * number), 8 + number % RECORDS * 8 * WORDS)
        os.pwrite(self.file.fileno(), struct.pack("<Q", end), 0)
        os.truncate(self.file.fileno(), 8 + RECORDS * 8 * WORDS)

    def test_tells_what_is_new_once(self):
        self.write(0, 2)
        self.assertEqual(list(self.ring.take()), [[0, 0], [1, 10]])
        self.write(2, 5)
        self.assertEqual(list(self.ring.take()), [[2, 20], [3, 30], [4, 40]])
        self.assertEqual((list(self.ring.take()), self.ring.lost), ([], 0))

    def test_counts_what_was_overwritten_and_leaves_out_what_may_be_half_written(self):
        self.write(0, 9)
        self.assertEqual(list(self.ring.take()), [[6, 60], [7, 70], [8, 80]])
        self.assertEqual(self.ring.lost, 6)


class Rows(unittest.TestCase):
    def test_a_segment_has_its_counts_apart(self):
        constants = Layout(PROTOCOL).constants
        counts = 10 | 417 << constants["SEGMENT_NODES_SHIFT"] | 1 << constants["SEGMENT_MAIN_SHIFT"]
        self.assertEqual(segment_row([5, 6, 1, counts], constants), [5, 6, 1, 10, 417, 1])

    def test_times_are_from_the_begin_and_none_stays_none(self):
        self.assertEqual(list(relative([[9000, 0, 12000, 3000]], {0, 1, 2}, {3}, 8000)), [[1, None, 4, 3]])


if __name__ == "__main__":
    unittest.main()
