import http.client
import json
import threading
import unittest

from llm.server import Server


class Counting:
    """Makes the ids 0, 1, 2 … one by one; ends by itself after `most`. Fails if the prompt begins with 13."""

    vocabulary = 32_000
    most = 1000

    def __init__(self):
        self.closed = threading.Event()

    def generate(self, ids, max_tokens, ignore_eos):
        if ids[0] == 13:
            raise RuntimeError("out of memory")
        try:
            for i in range(min(max_tokens, self.most)):
                yield 100 + i, [i]
        except GeneratorExit:
            self.closed.set()
            raise

    def counts(self):
        return 1, 2

    def alive(self):
        return True


class ServerTest(unittest.TestCase):
    def setUp(self):
        self.engine = Counting()
        self.server = Server(("127.0.0.1", 0), self.engine, "tiny", 500_000)
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()
        self.connection = http.client.HTTPConnection("127.0.0.1", self.server.server_port)

    def tearDown(self):
        self.connection.close()
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def ask(self, method, path, body=None):
        self.connection.request(method, path, body if isinstance(body, (str, type(None))) else json.dumps(body))
        answer = self.connection.getresponse()
        return answer.status, answer.read().decode()

    def events(self, body, path="/v1/completions"):
        _, text = self.ask("POST", path, {**body, "stream": True})
        self.assertTrue(text.endswith("data: [DONE]\n\n"))
        return [json.loads(event[6:]) for event in text.split("\n\n")[:-2]]

    def test_a_stream_has_an_event_for_each_token_and_the_usage(self):
        body = {"prompt": [5, 6], "max_tokens": 3, "stream_options": {"include_usage": True}}
        events = self.events(body)
        choices = [choice for event in events for choice in event["choices"]]
        self.assertEqual([choice["text"] for choice in choices], [" t0", " t1", " t2"])
        self.assertEqual([choice["finish_reason"] for choice in choices], [None, None, "length"])
        self.assertEqual(events[-1]["usage"], {"prompt_tokens": 2, "completion_tokens": 3, "total_tokens": 5})

    def test_an_answer_that_ends_by_itself_says_so(self):
        self.engine.most = 2
        events = self.events({"prompt": [5], "max_tokens": 3})
        self.assertEqual([event["choices"][0]["finish_reason"] for event in events], [None, None, "stop"])

    def test_whole_answers_and_several_requests_on_one_connection(self):
        for _ in range(2):
            status, text = self.ask("POST", "/v1/completions", {"prompt": "t5", "max_tokens": 2})
            self.assertEqual((status, json.loads(text)["choices"][0]["text"]), (200, " t0 t1"))
        messages = [{"role": "user", "content": "hello"}]
        status, text = self.ask("POST", "/v1/chat/completions", {"messages": messages, "max_tokens": 1})
        self.assertEqual(json.loads(text)["choices"][0]["message"]["content"], " t0")

    def test_metrics_count_what_was_served(self):
        self.events({"prompt": [5, 6], "max_tokens": 3})
        _, text = self.ask("GET", "/metrics")
        labels = 'engine="0",model_name="tiny"'
        for line in (
            f"vllm:num_requests_running{{{labels}}} 1",
            f"vllm:num_requests_waiting{{{labels}}} 2",
            f"vllm:prompt_tokens_total{{{labels}}} 2",
            f"vllm:generation_tokens_total{{{labels}}} 3",
            f"vllm:time_to_first_token_seconds_count{{{labels}}} 1",
            f"vllm:inter_token_latency_seconds_sum{{{labels}}} 2.0",
            f"vllm:request_time_per_output_token_seconds_sum{{{labels}}} 1.0",
        ):
            self.assertIn(line, text.splitlines())

    def test_models_and_health(self):
        status, text = self.ask("GET", "/v1/models")
        self.assertEqual((status, json.loads(text)["data"][0]["id"]), (200, "tiny"))
        self.assertEqual(self.ask("GET", "/health"), (200, ""))
        self.assertEqual(self.ask("GET", "/nothing")[0], 404)

    def test_wrong_requests_are_refused_and_the_next_is_served(self):
        for body, status in (("{", 400), ({"prompt": []}, 400), ({"prompt": [1], "model": "x"}, 404)):
            got, text = self.ask("POST", "/v1/completions", body)
            self.assertEqual((got, "message" in json.loads(text)["error"]), (status, True))
        self.assertEqual(self.ask("POST", "/v1/nothing", {})[0], 404)
        self.assertEqual(len(self.events({"prompt": [1], "max_tokens": 2})), 2)

    def test_an_engine_that_fails_is_said_whole_and_in_a_stream(self):
        status, text = self.ask("POST", "/v1/completions", {"prompt": [13]})
        self.assertEqual((status, json.loads(text)["error"]["message"]), (500, "out of memory"))
        self.assertEqual(self.events({"prompt": [13]})[0]["error"]["message"], "out of memory")
        self.assertIn('finished_reason="error"} 2', self.ask("GET", "/metrics")[1])

    def test_the_engine_stops_for_a_client_that_is_gone(self):
        self.engine.most = 400_000
        body = json.dumps({"prompt": [1], "max_tokens": 400_000, "stream": True})
        self.connection.request("POST", "/v1/completions", body)
        self.connection.getresponse().read(100)
        self.connection.close()
        self.assertTrue(self.engine.closed.wait(60))


if __name__ == "__main__":
    unittest.main()
