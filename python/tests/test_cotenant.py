"""The package in the process that runs this. COTENANT_TEST_ROLE: the role that is expected of it; empty: none."""

import os
import unittest

import cotenant


class Cotenant(unittest.TestCase):
    def test_the_role_is_that_of_this_process(self):
        expected = os.environ["COTENANT_TEST_ROLE"] or None
        self.assertEqual(cotenant.role(), expected)
        self.assertEqual(cotenant.is_active(), expected is not None)

    def test_an_announcement_of_any_length_returns_nothing(self):
        for microseconds in (0, 1, cotenant.LONGEST_US, 2**40):
            self.assertIsNone(cotenant.announce(microseconds))

    def test_a_negative_length_is_refused(self):
        with self.assertRaisesRegex(ValueError, "must not be negative, but it is -1"):
            cotenant.announce(-1)

    def test_a_request_hides_no_exception(self):
        with self.assertRaises(KeyError), cotenant.request():
            raise KeyError("of the service")

    def test_a_request_may_be_told_of_in_any_order(self):
        request = cotenant.request(0)
        for call in (request.end, request.fail, request.progress, request.begin, request.progress):
            call()
        request.progress(3)
        request.begin()
        request.end()
        request.end()

    def test_no_units_and_a_negative_length_are_refused(self):
        with self.assertRaisesRegex(ValueError, "at least 1, but it is 0"):
            cotenant.request().progress(0)
        with self.assertRaisesRegex(ValueError, "must not be negative, but it is -1"):
            cotenant.request(-1)

    def test_calls_of_a_decorated_function_are_requests_of_their_own(self):
        seen = []

        class Noting(cotenant.request):
            def __enter__(self):
                seen.append(self)
                return super().__enter__()

        @Noting(0)
        def answer(depth):
            return depth if depth == 0 else answer(depth - 1)

        self.assertEqual(answer(2), 0)
        self.assertEqual(len({id(one) for one in seen}), 3)

    def test_a_start_up_hides_no_exception_and_may_be_said_again(self):
        for _ in range(2):
            with self.assertRaises(KeyError), cotenant.starting():
                raise KeyError("of the model")
        self.assertIsNone(cotenant.ready())

    def test_a_decorated_function_answers_as_before(self):
        @cotenant.request(2_000)
        def answer(question, *, times):
            return question * times

        self.assertEqual(answer("a", times=3), "aaa")
        self.assertEqual(answer.__name__, "answer")


if __name__ == "__main__":
    unittest.main()
