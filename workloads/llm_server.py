"""An LLM server with OpenAI's API: continuous batching by transformers, random weights, token ids in place of text.

Serves /v1/completions, /v1/chat/completions (whole or as a stream), /v1/models, /health, and /metrics with the names
of vLLM. Nothing is downloaded.
"""

import signal
import sys
import threading

from check import Parser
from llm.shapes import SHAPES


def options(argv=None):
    parser = Parser("llm_server.py", __doc__)
    add = parser.add_argument
    add("--model", default="llama-3.2-1b", help=", ".join(SHAPES))
    add("--layers", type=int, help="fewer or more than the model has")
    add("--attention", default="sdpa", choices=["sdpa", "eager", "flash_attention_2", "flash_attention_3"])
    add("--cuda-graphs", choices=["on", "off"], default="on")
    add("--device", choices=["cuda", "cpu"], default="cuda")
    add("--cache-blocks", type=int, default=256, help="of the key-value cache")
    add("--block-size", type=int, default=256, help="tokens of a block")
    add("--batch-tokens", type=int, default=1024, help="most tokens of one forward pass")
    add("--max-model-len", type=int, default=8192, help="most tokens of a prompt and its answer")
    add("--host", default="127.0.0.1")
    add("--port", type=int, default=8000)
    add("--seed", type=int, default=1)
    add("--control", help="directory of a harness; requests come from it instead of HTTP")
    add("--name", default="llm", help="what the harness calls this job")
    add("--prompt", type=int, default=512, help="with --control: mean tokens of a prompt, lognormal with a CV of 1")
    add("--tokens", type=int, default=128, help="with --control: tokens of an answer")
    add("--depth", type=int, default=16, help="with --control: requests at a time, back to back")
    given = parser.parse_args(argv)
    parser.look_up(given.model, SHAPES)
    given.max_model_len = min(given.max_model_len, given.cache_blocks * given.block_size)
    if min(given.prompt, given.tokens, given.depth) < 1 or given.tokens >= given.max_model_len:
        parser.error("--prompt, --tokens and --depth must be at least 1, --tokens less than --max-model-len")
    # On a CPU transformers asks psutil how much memory there is.
    return parser.checked(given, ("torch", "transformers", *(["psutil"] if given.device == "cpu" else [])))


def main():
    given = options()
    from llm.engine import Engine

    engine = Engine(given)
    if given.control:
        answer_harness(engine, given)
    else:
        serve(engine, given)
    engine.stop()


def answer_harness(engine, given):
    import torch
    from control import Control
    from llm.directed import Asking, directed

    asking = Asking(engine, given.prompt, given.tokens, given.max_model_len, given.seed)
    facts = {
        "label": f"{given.model} {given.prompt} + {given.tokens} tokens, continuous batching",
        "model": given.model,
        "form": "engine",
        "batch": given.depth,
        "dtype": "fp32" if given.device == "cpu" else "bf16",
        "memory_bytes": torch.cuda.memory_reserved() if given.device == "cuda" else 0,
    }
    directed(Control(given.control, given.name), asking, given.depth, facts)


def serve(engine, given):
    from llm.server import Server

    server = Server((given.host, given.port), engine, given.model, given.max_model_len)
    # shutdown() waits for serve_forever(), which this thread runs.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: threading.Thread(target=server.shutdown).start())
    print(f"{given.model} ready on port {server.server_port}", file=sys.stderr, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
