import subprocess
import sys
import unittest
from pathlib import Path

from models import MODELS, SERVED, TRAINED, Shape

HERE = Path(__file__).parent


def run(*line):
    ended = subprocess.run([sys.executable, HERE / line[0], *line[1:]], capture_output=True, text=True)
    return ended.returncode, ended.stdout, ended.stderr


class ModelsTest(unittest.TestCase):
    def test_every_model_has_a_family_here(self):
        for name, model in MODELS.items():
            self.assertTrue((HERE / "models" / f"{model.family}.py").exists(), name)
            self.assertIn(name, SERVED)

    def test_a_shape_is_changed_by_what_is_given(self):
        self.assertEqual(Shape(4, 384).changed(batch=8, sequence=None), Shape(8, 384))
        self.assertEqual(str(Shape(4, 128)), "4 x 128 bf16")
        self.assertEqual(str(Shape(1, tokens=2, context=512)), "1 x 2 at 512 bf16")

    def test_a_shape_refuses_what_the_model_has_not(self):
        for wrong, words in (
            ({"sequence": 5}, "no --sequence"),
            ({"batch": 0}, "--batch must be at least 1"),
        ):
            with self.assertRaisesRegex(ValueError, words):
                Shape(4).changed(**wrong)
        with self.assertRaisesRegex(ValueError, "--tokens must not be more"):
            Shape(1, tokens=1, context=512).changed(tokens=513)


class FaultsTest(unittest.TestCase):
    """An error of the user is one line and exit 2."""

    def assert_said(self, line, words):
        code, out, err = run(*line)
        self.assertEqual((code, out), (2, ""), err)
        self.assertEqual(err.count("\n"), 1, err)
        self.assertRegex(err, words)

    def test_unknown_models(self):
        self.assert_said(["serve.py", "--model", "foo"], r'^serve\.py: no model is called "foo" \(known: res')
        self.assert_said(["train.py", "--model", "foo"], r'^train\.py: no model is called "foo"')
        for program in ("llm_server.py", "generate.py", "diffusion.py"):
            self.assert_said([program, "--model", "foo"], f'^{program}: no model is called "foo"')
        halves = ["--high", "--model foo", "--best-effort", "", "--control", "d", "--check"]
        self.assert_said(["streams.py", *halves], r'^streams\.py --high: no model is called "foo"')

    def test_models_that_are_not_trained(self):
        self.assertNotIn("llama-7b", TRAINED)
        self.assert_said(["train.py", "--model", "llama-7b"], '"llama-7b" is only served')

    def test_options_that_mean_nothing(self):
        self.assert_said(["serve.py", "--model", "resnet50", "--sequence", "9"], "no --sequence")
        self.assert_said(["serve.py", "--arrivals", "often"], 'arrivals "often" are not known')
        self.assert_said(["serve.py", "--rate", "0"], "--rate must be above 0")
        self.assert_said(["diffusion.py", "--latent", "33"], "--latent even and at least 2")
        self.assert_said(["diffusion.py", "--form", "graph", "--device", "cpu"], "--form graph needs a GPU")
        self.assert_said(["generate.py", "--tokens", "0"], "--prompt and --tokens must be at least 1")
        self.assert_said(["train.py", "--frob"], "unrecognized arguments: --frob")

    def test_check_names_a_package_that_is_missing_or_says_nothing(self):
        for line in (
            ["serve.py", "--check"],
            ["train.py", "--check"],
            ["llm_server.py", "--check"],
            ["generate.py", "--check"],
            ["diffusion.py", "--check"],
            ["jax_serve.py", "--check"],
            ["cupy_train.py", "--check"],
            ["streams.py", "--high", "", "--best-effort", "", "--control", "d", "--check"],
        ):
            code, out, err = run(*line)
            self.assertEqual(out, "")
            if code != 0:
                self.assertEqual(code, 2, err)
                self.assertRegex(err, r"^[^\n]* has no package \w+; install it there\n$")


if __name__ == "__main__":
    unittest.main()
