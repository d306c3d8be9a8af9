"""The plugins beside engines of the shape that vLLM and SGLang have. Whether these have it: test/python/engines.test.ts."""

import contextlib
import io
import time
import unittest
from types import SimpleNamespace
from unittest import mock

import cotenant
from cotenant.engines import followed, sglang, vllm


class Told(cotenant.request):
    """In place of a request: what is told of it."""

    all = []

    def __init__(self, microseconds=0):
        super().__init__(microseconds)
        self.said = []
        Told.all.append(self)

    def begin(self, ago=0):
        self.said.append(("begin", round(ago, 1)))
        return self

    def progress(self, units=1):
        self.said.append(units)

    def end(self):
        self.said.append("end")

    def fail(self):
        self.said.append("fail")


class Engines(unittest.TestCase):
    def setUp(self):
        Told.all = []
        patch = mock.patch.object(cotenant, "request", Told)
        patch.start()
        self.addCleanup(patch.stop)

    def said(self):
        return [one.said for one in Told.all]


def core_class():
    class Scheduler:
        def finish_requests(self, request_ids, finished_status):
            return []

    class EngineCore:
        def __init__(self):
            self.scheduler = Scheduler()
            self.outputs = []

        def add_request(self, request, request_wave=0):
            return None

        def step(self):
            outputs, self.outputs = self.outputs, []
            return ({0: SimpleNamespace(outputs=outputs)} if outputs else {}), True

        def step_with_batch_queue(self):
            return None, True

    return EngineCore


def output(name, tokens, reason=None):
    return SimpleNamespace(request_id=name, new_token_ids=[7] * tokens, finish_reason=reason)


class Vllm(Engines):
    def setUp(self):
        super().setUp()
        core = core_class()
        self.teller = followed.Teller("vLLM")
        vllm.follow(self.teller, core)
        self.core = core()

    def add(self, name, ago=0.0):
        self.core.add_request(SimpleNamespace(request_id=name, arrival_time=time.time() - ago))

    def test_a_request_begins_when_the_api_server_got_it_and_has_its_tokens_and_its_end(self):
        self.add("a", ago=0.5)
        for outputs in ([output("a", 1)], [], [output("a", 2), output("b", 1)], [output("a", 1, "stop")]):
            self.core.outputs = outputs
            self.core.step()
            self.core.step_with_batch_queue()
        self.assertEqual(self.said(), [[("begin", 0.5), 1, 2, 1, "end"]])

    def test_one_that_its_user_leaves_has_failed_unless_it_had_an_answer(self):
        for name in ("waiting", "stopped", "paused"):
            self.add(name)
        self.core.outputs = [output("stopped", 3)]
        self.core.step()
        self.core.scheduler.finish_requests(["waiting", "stopped", "unknown"], "aborted")
        self.core.scheduler.finish_requests(None, "aborted")
        self.assertEqual([said[1:] for said in self.said()], [["fail"], [3, "end"], ["fail"]])

    def test_an_error_of_the_plugin_is_said_once_and_is_not_the_engines(self):
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            for _ in range(2):
                self.core.add_request(SimpleNamespace(request_id="a"))
            self.core.step()
        self.assertRegex(said.getvalue(), r"^cotenant: the requests of this vLLM are not told of, .*arrival_time.*\n$")
        self.assertIn("--slo-metrics", said.getvalue())

    def test_another_vllm_is_left_alone_and_that_is_said(self):
        class Other:
            def add_request(self, item):
                return None

        before = Other.add_request
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            vllm.follow(followed.Teller("vLLM"), Other)
        self.assertIs(Other.add_request, before)
        self.assertIn("its add_request takes (self, item)", said.getvalue())


class FINISH_ABORT:
    pass


class Sglang(Engines):
    def setUp(self):
        super().setUp()

        class Scheduler:
            def _add_request_to_queue(self, req, is_retracted=False):
                return None

            def process_batch_result(self, batch, result):
                return None

            def abort_request(self, recv_req):
                return None

        sglang.follow(followed.Teller("SGLang"), Scheduler)
        self.scheduler = Scheduler()

    @staticmethod
    def request(name, reason=None):
        one = SimpleNamespace(rid=name, output_ids=[], finished_reason=reason)
        one.finished = lambda: one.finished_reason is not None
        return one

    def process(self, *reqs):
        self.scheduler.process_batch_result(SimpleNamespace(reqs=reqs), None)

    def test_a_request_has_its_tokens_and_its_end_also_if_it_is_retracted_meanwhile(self):
        one = self.request("a")
        self.scheduler._add_request_to_queue(one)
        self.process(one)
        one.output_ids = [1, 2]
        self.process(one)
        self.scheduler._add_request_to_queue(one, is_retracted=True)
        one.output_ids = [1, 2, 3]
        one.finished_reason = object()
        self.process(one)
        self.process(one)
        self.assertEqual(self.said(), [[("begin", 0), 2, 1, "end"]])

    def test_aborts_and_the_engines_own_probes(self):
        waiting, running = self.request("x-1"), self.request("x-2")
        for one in (waiting, running, self.request("HEALTH_CHECK_1"), self.request("late", FINISH_ABORT())):
            self.scheduler._add_request_to_queue(one)
        running.output_ids = [1]
        self.process(running)
        self.scheduler.abort_request(SimpleNamespace(abort_all=False, rid="x"))
        self.assertEqual([said[1:] for said in self.said()], [["fail"], [1]])
        running.finished_reason = FINISH_ABORT()
        self.process(running)
        self.assertEqual(self.said()[1][1:], [1, "end"])


class Registering(unittest.TestCase):
    def test_does_nothing_in_a_process_that_is_no_high_client(self):
        for role in (None, "best-effort"):
            with mock.patch.object(cotenant, "role", return_value=role):
                vllm.register()
                sglang.register()
        self.assertIsNone(vllm._teller)
        self.assertIsNone(sglang._teller)


if __name__ == "__main__":
    unittest.main()
