"""The HTTP server: one thread for each connection, by Python's standard library."""

import itertools
import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from . import protocol
from .metrics import Metrics

LARGEST_BODY = 64 * 2**20


class Server(ThreadingHTTPServer):
    """`engine` has generate(ids, max_tokens, ignore_eos), which yields (when, new tokens); counts(); alive(); vocabulary."""

    daemon_threads = True
    # Bursts of requests connect at once.
    request_queue_size = 4096

    def __init__(self, address, engine, model, longest):
        super().__init__(address, Handler)
        self.engine = engine
        self.model = model
        self.longest = longest
        self.metrics = Metrics(model)
        self.numbers = itertools.count()

    def handle_error(self, request, client_address):
        """A client that goes away in the middle of an answer is no news."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    # Tokens are sent as they come.
    disable_nagle_algorithm = True

    def do_GET(self):
        if self.path == "/health":
            self._send(200 if self.server.engine.alive() else 503, b"")
        elif self.path == "/metrics":
            text = self.server.metrics.text(*self.server.engine.counts())
            self._send(200, text.encode(), "text/plain; version=0.0.4; charset=utf-8")
        elif self.path == "/v1/models":
            self._json(200, protocol.models(self.server.model, self.server.longest))
        else:
            self._json(404, protocol.error(f"There is no {self.path}.", 404))

    def do_POST(self):
        arrived = time.monotonic()
        api = {"/v1/completions": "completions", "/v1/chat/completions": "chat"}.get(self.path)
        try:
            body = self._body()
            if api is None:
                raise protocol.Refused(f"There is no {self.path}.", 404)
            server = self.server
            request = protocol.asked(body, api, server.model, server.engine.vocabulary, server.longest)
        except protocol.Refused as refused:
            self._json(refused.status, protocol.error(str(refused), refused.status))
            return
        name = f"{'chatcmpl' if request.chat else 'cmpl'}-{next(self.server.numbers)}"
        answers = protocol.Answers(request, name, self.server.model, int(time.time()))
        tokens = Timed(self.server, request, arrived)
        if request.stream:
            self._stream(answers, tokens)
        else:
            self._whole(answers, tokens)

    def _whole(self, answers, tokens):
        ids = []
        try:
            with tokens:
                for new in tokens:
                    ids += new
        except RuntimeError as error:
            self._json(500, protocol.error(str(error), 500))
            return
        self._json(200, answers.whole(ids, tokens.finish))

    def _stream(self, answers, tokens):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for document in answers.begin():
            self._event(document)
        try:
            with tokens:
                for new in tokens:
                    # Known with the last piece: the length is reached.
                    self._event(answers.piece(new, tokens.finish))
        except RuntimeError as error:
            self._event(protocol.error(str(error), 500))
        else:
            if tokens.finish == "stop":
                self._event(answers.piece([], "stop"))
            for document in answers.last(tokens.made):
                self._event(document)
        self._chunk(b"data: [DONE]\n\n")
        self._chunk(b"")

    def _body(self):
        try:
            length = int(self.headers.get("Content-Length", ""))
        except ValueError:
            self.close_connection = True
            raise protocol.Refused("The request has no Content-Length.", 411) from None
        if not 0 <= length <= LARGEST_BODY:
            self.close_connection = True
            raise protocol.Refused("The body is too large.", 413)
        try:
            return json.loads(self.rfile.read(length))
        except ValueError:
            raise protocol.Refused("The body is no JSON.") from None

    def _event(self, document):
        self._chunk(b"data: " + json.dumps(document, separators=(",", ":")).encode() + b"\n\n")

    def _chunk(self, data):
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))

    def _json(self, status, document):
        self._send(status, json.dumps(document).encode(), "application/json")

    def _send(self, status, data, kind="text/plain"):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        """Nothing: a line for each request would cost time on the measured path."""


class Timed:
    """The tokens of one request, each noted in the metrics."""

    def __init__(self, server, request, arrived):
        self._metrics = server.metrics
        self._request = request
        self._arrived = arrived
        self._tokens = server.engine.generate(request.ids, request.max_tokens, request.ignore_eos)
        self.made = 0
        # Why it ended: "stop", "length"; None before.
        self.finish = None

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        # The client is gone: the engine need not go on.
        if kind is not None and self.finish is None:
            self._tokens.close()
            self._metrics.end("error" if issubclass(kind, RuntimeError) else "abort")

    def __iter__(self):
        first = last = None
        for when, new in self._tokens:
            for _ in new:
                if first is None:
                    first = when
                    self._metrics.first(when - self._arrived, len(self._request.ids))
                else:
                    self._metrics.next(when - last)
                last = when
            self.made += len(new)
            if self.made >= self._request.max_tokens:
                self.finish = "length"
            yield new
        self.finish = self.finish or "stop"
        if last is None:
            self._metrics.end(self.finish)
            return
        per_token = (last - first) / (self.made - 1) if self.made > 1 else None
        self._metrics.end(self.finish, last - self._arrived, per_token)
