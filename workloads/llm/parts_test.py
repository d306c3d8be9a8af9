import unittest

from llm.metrics import REQUEST_S, TOKEN_S, TTFT_S, Metrics
from llm.protocol import Answers, Refused, asked
from llm.shapes import SHAPES
from llm.tokens import FIRST_WORD, to_ids, to_text


class TokensTest(unittest.TestCase):
    def test_text_that_was_made_is_read_as_the_same_ids(self):
        self.assertEqual(to_ids(to_text([0, 17, 31_999]), 32_000), [0, 17, 31_999])

    def test_a_word_is_always_the_same_id_within_the_vocabulary(self):
        ids = to_ids("the cat and the dog  t99999", 2000)
        self.assertEqual(len(ids), 6)
        self.assertEqual(ids[0], ids[3])
        self.assertNotEqual(ids[0], ids[1])
        self.assertTrue(all(FIRST_WORD <= i < 2000 for i in ids))


class AskedTest(unittest.TestCase):
    def ask(self, body, api="completions"):
        return asked(body, api, "tiny", 32_000, 100)

    def test_a_prompt_is_a_text_or_a_list_of_ids_or_a_list_of_one_of_them(self):
        for prompt in ([5, 6], [[5, 6]], "t5 t6", ["t5 t6"]):
            self.assertEqual(self.ask({"prompt": prompt}).ids, [5, 6])

    def test_what_is_not_given_is_as_openai_has_it(self):
        request = self.ask({"prompt": [1]})
        self.assertEqual((request.max_tokens, request.stream, request.ignore_eos), (16, False, False))
        self.assertFalse(request.include_usage)

    def test_a_chat_is_the_text_of_its_messages(self):
        messages = [
            {"role": "system", "content": "t1 t2"},
            {"role": "user", "content": [{"type": "text", "text": "t3"}, {"type": "image_url"}]},
        ]
        request = self.ask({"messages": messages, "max_completion_tokens": 7}, "chat")
        self.assertEqual((request.ids, request.max_tokens), ([1, 2, 3], 7))

    def test_what_cannot_be_served_is_refused_with_a_reason(self):
        for body, why in (
            ({"prompt": [1], "model": "gpt"}, "is not served"),
            ({"prompt": [1], "n": 2}, "n must be 1"),
            ({"prompt": [[1], [2]]}, "one list"),
            ({"prompt": []}, "empty"),
            ({}, "prompt must be"),
            ({"prompt": [32_000]}, "from 0 to 31999"),
            ({"prompt": [-1]}, "from 0 to 31999"),
            ({"prompt": [1], "max_tokens": -3}, "max_tokens"),
            ({"prompt": [1], "max_tokens": 100}, "exceed the context of 100"),
            ([], "no JSON object"),
        ):
            with self.assertRaisesRegex(Refused, why):
                self.ask(body)


class AnswersTest(unittest.TestCase):
    def answers(self, api, **more):
        prompt = {"messages": [{"content": "t1 t2"}]} if api == "chat" else {"prompt": [1, 2]}
        return Answers(asked({**prompt, **more}, api, "tiny", 32_000, 1000), "x-1", "tiny", 5)

    def test_a_completion(self):
        answer = self.answers("completions").whole([7, 8], "length")
        self.assertEqual(answer["object"], "text_completion")
        self.assertEqual(
            answer["choices"], [{"index": 0, "text": " t7 t8", "logprobs": None, "finish_reason": "length"}]
        )
        self.assertEqual(answer["usage"], {"prompt_tokens": 2, "completion_tokens": 2, "total_tokens": 4})

    def test_a_chat_as_a_stream(self):
        answers = self.answers("chat", stream=True)
        self.assertEqual(answers.begin()[0]["choices"][0]["delta"], {"role": "assistant", "content": ""})
        piece = answers.piece([7], "length")
        self.assertEqual(piece["object"], "chat.completion.chunk")
        self.assertEqual(piece["choices"], [{"index": 0, "delta": {"content": " t7"}, "finish_reason": "length"}])

    def test_the_usage_comes_last_if_asked_for(self):
        self.assertEqual(self.answers("completions").last(3), [])
        (last,) = self.answers("completions", stream_options={"include_usage": True}).last(3)
        self.assertEqual((last["choices"], last["usage"]["completion_tokens"]), ([], 3))


class MetricsTest(unittest.TestCase):
    def test_each_time_is_in_the_bucket_of_its_limit(self):
        metrics = Metrics("tiny")
        metrics.first(0.04, 12)
        metrics.next(0.0101)
        metrics.next(100)
        metrics.end("length", 0.3, 0.02)
        lines = metrics.text(3, 4).splitlines()
        labels = 'engine="0",model_name="tiny"'
        for line in (
            f"vllm:num_requests_running{{{labels}}} 3",
            f"vllm:num_requests_waiting{{{labels}}} 4",
            f"vllm:prompt_tokens_total{{{labels}}} 12",
            f"vllm:generation_tokens_total{{{labels}}} 3",
            f'vllm:request_success_total{{{labels},finished_reason="length"}} 1',
            f'vllm:time_to_first_token_seconds_bucket{{{labels},le="0.02"}} 0',
            f'vllm:time_to_first_token_seconds_bucket{{{labels},le="0.04"}} 1',
            f'vllm:inter_token_latency_seconds_bucket{{{labels},le="0.01"}} 0',
            f'vllm:inter_token_latency_seconds_bucket{{{labels},le="0.025"}} 1',
            f'vllm:inter_token_latency_seconds_bucket{{{labels},le="80.0"}} 1',
            f'vllm:inter_token_latency_seconds_bucket{{{labels},le="+Inf"}} 2',
            f"vllm:inter_token_latency_seconds_count{{{labels}}} 2",
            f'vllm:e2e_request_latency_seconds_bucket{{{labels},le="0.3"}} 1',
            f"vllm:request_time_per_output_token_seconds_sum{{{labels}}} 0.02",
        ):
            self.assertIn(line, lines)

    def test_the_limits_are_sorted(self):
        for limits in (TTFT_S, TOKEN_S, REQUEST_S):
            self.assertEqual(list(limits), sorted(limits))


class ShapesTest(unittest.TestCase):
    def test_every_vocabulary_holds_the_ids_of_the_load_generator(self):
        for _, _, shape in SHAPES.values():
            self.assertGreaterEqual(shape["vocab_size"], 30_000)


if __name__ == "__main__":
    unittest.main()
