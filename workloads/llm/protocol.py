"""The part of OpenAI's API that is served: what a body asks for, and what the answers look like."""

from dataclasses import dataclass

from .tokens import to_ids, to_text

# OpenAI's default for completions. Chats have none there.
DEFAULT_TOKENS = {"completions": 16, "chat": 256}


class Refused(Exception):
    """Its text is for the client; HTTP status 400 or the one given."""

    def __init__(self, message, status=400):
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Asked:
    chat: bool
    ids: list
    max_tokens: int
    ignore_eos: bool
    stream: bool
    include_usage: bool


def asked(body, api, model, vocabulary, longest):
    """The request in a decoded JSON body. `api`: completions or chat; `longest`: tokens of prompt and answer."""
    if not isinstance(body, dict):
        raise Refused("The body is no JSON object.")
    if body.get("model", model) != model:
        raise Refused(f"The model {body['model']!r} is not served; this is {model!r}.", 404)
    if body.get("n", 1) != 1:
        raise Refused("n must be 1.")
    ids = prompt_of(body, api, vocabulary)
    max_tokens = body.get("max_completion_tokens") or body.get("max_tokens") or DEFAULT_TOKENS[api]
    if not isinstance(max_tokens, int) or max_tokens < 1:
        raise Refused("max_tokens must be a whole number of 1 or more.")
    if len(ids) + max_tokens > longest:
        raise Refused(f"{len(ids)} prompt tokens and {max_tokens} more exceed the context of {longest} tokens.")
    options = body.get("stream_options") or {}
    return Asked(
        chat=api == "chat",
        ids=ids,
        max_tokens=max_tokens,
        ignore_eos=bool(body.get("ignore_eos", False)),
        stream=bool(body.get("stream", False)),
        include_usage=bool(options.get("include_usage", False)),
    )


def prompt_of(body, api, vocabulary):
    if api == "chat":
        messages = body.get("messages")
        if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
            raise Refused("messages must be a list of objects.")
        prompt = " ".join(content_of(message) for message in messages)
    else:
        prompt = body.get("prompt")
        # A list of one prompt stands for it.
        if isinstance(prompt, list) and len(prompt) == 1 and not isinstance(prompt[0], int):
            prompt = prompt[0]
    if isinstance(prompt, str):
        ids = to_ids(prompt, vocabulary)
    elif isinstance(prompt, list) and all(isinstance(i, int) and not isinstance(i, bool) for i in prompt):
        ids = prompt
    else:
        raise Refused("prompt must be one text or one list of token ids.")
    if not ids:
        raise Refused("The prompt is empty.")
    if not 0 <= min(ids) <= max(ids) < vocabulary:
        raise Refused(f"Token ids must be from 0 to {vocabulary - 1}.")
    return ids


def content_of(message):
    """A message's text, or that of its parts."""
    content = message.get("content")
    if isinstance(content, list):
        return " ".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


class Answers:
    """The documents of one request's answer."""

    def __init__(self, request, request_id, model, created):
        self.request = request
        self.common = {"id": request_id, "created": created, "model": model}

    def usage(self, made):
        prompt = len(self.request.ids)
        return {"prompt_tokens": prompt, "completion_tokens": made, "total_tokens": prompt + made}

    def whole(self, ids, finish):
        text = to_text(ids)
        message = {"role": "assistant", "content": text}
        choice = {"message": message} if self.request.chat else {"text": text, "logprobs": None}
        kind = "chat.completion" if self.request.chat else "text_completion"
        return self._document(kind, [self._choice(choice, finish)], usage=self.usage(len(ids)))

    def begin(self):
        """The first event of a chat says whose turn it is; completions have none such."""
        return [self._chunk({"delta": {"role": "assistant", "content": ""}}, None)] if self.request.chat else []

    def piece(self, ids, finish=None):
        text = to_text(ids)
        return self._chunk({"delta": {"content": text}} if self.request.chat else {"text": text}, finish)

    def last(self, made):
        """The event that holds the usage, if it was asked for."""
        kind = "chat.completion.chunk" if self.request.chat else "text_completion"
        return [self._document(kind, [], usage=self.usage(made))] if self.request.include_usage else []

    def _chunk(self, choice, finish):
        kind = "chat.completion.chunk" if self.request.chat else "text_completion"
        return self._document(kind, [self._choice(choice, finish)])

    def _document(self, kind, choices, **more):
        return {**self.common, "object": kind, "choices": choices, **more}

    @staticmethod
    def _choice(choice, finish):
        return {"index": 0, **choice, "finish_reason": finish}


def error(message, status):
    kind = "invalid_request_error" if status < 500 else "server_error"
    return {"error": {"message": message, "type": kind, "code": status}}


def models(model, longest):
    one = {"id": model, "object": "model", "created": 0, "owned_by": "cotenant", "max_model_len": longest}
    return {"object": "list", "data": [one]}
