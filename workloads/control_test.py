import json
import os
import tempfile
import threading
import time
import unittest

import control
from control import Control, Disorder, write_whole


class Harness:
    """A control directory, and what a harness writes there."""

    def __init__(self, directory):
        self.directory = directory
        self.path = os.path.join(directory, "phase")

    def say(self, phase_id, jobs=None, **more):
        phase = {"id": phase_id, "start_ns": 5, "seconds": 1.5, "jobs": jobs or {}, "quit": False}
        write_whole(self.path, json.dumps({**phase, **more}))

    def scribble(self, text):
        write_whole(self.path, text)

    def answer(self, name):
        with open(os.path.join(self.directory, name), encoding="utf-8") as file:
            return json.load(file)


class ControlTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.harness = Harness(directory.name)
        self.job = Control(directory.name, "a")

    def follow(self, job):
        """The phases a job sees on a thread of its own, as they come; the fault that ended it, if any."""
        seen, faults = [], []

        def work():
            try:
                for phase in job.phases():
                    seen.append(phase)
            except Disorder as fault:
                faults.append(fault)

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        return seen, faults, thread

    def soon(self, condition):
        end = time.monotonic() + 5
        while not condition():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.001)

    def test_a_job_whose_harness_was_killed_leaves(self):
        gone = os.fork()
        if gone == 0:
            os._exit(0)
        os.waitpid(gone, 0)
        self.harness.say(1, {"a": {}}, pid=os.getpid())
        phases = self.job.phases()
        phase = next(phases)
        self.assertTrue(self.job.still(phase))
        self.harness.say(1, {"a": {}}, pid=gone)
        self.soon(lambda: not self.job.still(phase))
        self.assertEqual(list(phases), [])

    def test_ready_and_reports_are_files_of_the_job(self):
        self.job.ready(label="x")
        self.harness.say(3, {"a": {}})
        phase = next(self.job.phases())
        self.job.report(phase, done_ns=[1, 2])
        self.assertEqual(self.harness.answer("a.ready"), {"label": "x"})
        self.assertEqual(self.harness.answer("a.3.json"), {"id": 3, "done_ns": [1, 2]})

    def test_a_phase_is_this_jobs_part_of_it(self):
        self.harness.say(1, {"a": {"arrivals": "/f", "announce_us": 1000}, "b": {}})
        phase = next(self.job.phases())
        self.assertEqual((phase.arrivals, phase.announce_us, phase.start_ns), ("/f", 1000, 5))
        other = next(Control(self.harness.directory, "b").phases())
        self.assertEqual((other.arrivals, other.announce_us), (None, 0))

    def test_phases_without_the_job_are_passed_over_and_quit_ends_it(self):
        seen, faults, thread = self.follow(self.job)
        time.sleep(0.02)
        for phase_id, jobs in ((0, {"b": {}}), (1, {"a": {}}), (2, {}), (3, {"a": {}})):
            self.harness.say(phase_id, jobs)
            if "a" in jobs:
                self.soon(lambda phase_id=phase_id: seen and seen[-1].id == phase_id)
        self.harness.say(4, {"a": {}}, quit=True)
        thread.join(5)
        self.assertEqual([phase.id for phase in seen], [1, 3])
        self.assertEqual(faults, [])

    def test_a_phase_lasts_until_the_next(self):
        self.harness.say(1, {"a": {}})
        phase = next(self.job.phases())
        self.assertTrue(self.job.still(phase))
        self.harness.say(2)
        self.assertFalse(self.job.still(phase))

    def test_no_phase_for_longer_than_the_allowed_disorder_is_none(self):
        job = Control(self.harness.directory, "a")
        control.DISORDER_SECONDS, before = 0.02, control.DISORDER_SECONDS
        self.addCleanup(setattr, control, "DISORDER_SECONDS", before)
        seen, faults, _ = self.follow(job)
        time.sleep(0.1)
        self.harness.say(1, {"a": {}})
        self.soon(lambda: seen)
        self.assertEqual(faults, [])

    def test_a_moment_of_disorder_changes_nothing(self):
        self.harness.say(1, {"a": {}})
        phase = next(self.job.phases())
        for text in ("", '{"id": 2', "[]", '{"id": 2}'):
            self.harness.scribble(text)
            self.assertTrue(self.job.still(phase))
        os.remove(self.harness.path)
        self.assertTrue(self.job.still(phase))
        self.harness.say(2)
        self.assertFalse(self.job.still(phase))

    def test_lasting_disorder_ends_the_job(self):
        self.harness.say(1, {"a": {}})
        phase = next(self.job.phases())
        self.harness.scribble("{")
        with self.assertRaisesRegex(Disorder, "phase cannot be read"):
            end = time.monotonic() + 5
            while time.monotonic() < end:
                self.job.still(phase)


if __name__ == "__main__":
    unittest.main()
