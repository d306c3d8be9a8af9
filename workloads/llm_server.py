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
    given = parser.parse_args(argv)
    parser.look_up(given.model, SHAPES)
    given.max_model_len = min(given.max_model_len, given.cache_blocks * given.block_size)
    # On a CPU transformers asks psutil how much memory there is.
    return parser.checked(given, ("torch", "transformers", *(["psutil"] if given.device == "cpu" else [])))


def main():
    given = options()
    from llm.engine import Engine
    from llm.server import Server

    engine = Engine(given)
    server = Server((given.host, given.port), engine, given.model, given.max_model_len)
    # shutdown() waits for serve_forever(), which this thread runs.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: threading.Thread(target=server.shutdown).start())
    print(f"{given.model} ready on port {server.server_port}", file=sys.stderr, flush=True)
    server.serve_forever()
    engine.stop()


if __name__ == "__main__":
    main()
