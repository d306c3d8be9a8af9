"""Continuous batching by transformers 5.17, as an engine that streams the tokens of each request."""

import itertools
import queue
import threading
import time
import typing


class Engine:
    """A model with random weights and the manager that batches its requests. `given`: options of llm_server.py."""

    def __init__(self, given):
        import transformers

        from .models import causal_model

        model = causal_model(given, given.max_model_len, f"paged|{given.attention}")
        self.vocabulary = model.config.vocab_size
        self._eos = model.config.eos_token_id
        self._manager = model.init_continuous_batching(
            generation_config=transformers.GenerationConfig(do_sample=False, eos_token_id=-1),
            continuous_batching_config=transformers.ContinuousBatchingConfig(
                block_size=given.block_size,
                num_blocks=given.cache_blocks,
                max_batch_tokens=given.batch_tokens,
                use_cuda_graph=given.cuda_graphs == "on" and given.device != "cpu",
                # Prompts of the load generator share nothing.
                allow_block_sharing=False,
            ),
        )
        # Makes the cache and captures the graphs here, where it ends the program if it fails.
        self._manager.warmup()
        self._manager.start()
        self._numbers = itertools.count()
        # Each request's queue; typed so that threads of requests and the one below agree.
        self._waiting: typing.Dict[str, queue.Queue] = {}
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        """Gives each result to the thread of its request, with the time at which it came."""
        while True:
            result = self._manager.get_result(timeout=1)
            if result is None:
                if not self.alive():
                    break
                continue
            of = self._waiting.get(result.request_id)
            if of is not None:
                of.put((time.monotonic(), result))
        for of in list(self._waiting.values()):
            of.put((time.monotonic(), None))

    def alive(self):
        return self._manager.is_running()

    def generate(self, ids, max_tokens, ignore_eos):
        """Yields (when, new tokens). Closing the generator cancels the request."""
        name = f"r{next(self._numbers)}"
        results = self._waiting[name] = queue.Queue()
        ended = False
        made = 0
        try:
            accepted = self._manager.add_request(
                ids,
                request_id=name,
                max_new_tokens=max_tokens,
                streaming=True,
                eos_token_id=-1 if ignore_eos or self._eos is None else self._eos,
            )
            if accepted is None:
                raise RuntimeError("the engine takes no requests any more")
            while not ended:
                when, result = results.get()
                if result is None:
                    raise RuntimeError("the engine has ended")
                ended = result.is_finished()
                if result.error:
                    raise RuntimeError(result.error)
                new = result.generated_tokens[made:]
                made += len(new)
                if new:
                    yield when, new
        finally:
            del self._waiting[name]
            if not ended:
                self._manager.cancel_request(name)

    def counts(self):
        """Requests that run, and that wait."""
        processor = self._manager.batch_processor
        queued = self._manager.input_queue.qsize()
        if processor is None:
            return 0, queued
        scheduler = processor.scheduler
        return len(scheduler.active_requests), len(scheduler.waiting_requests) + queued

    def stop(self):
        self._manager.stop(block=True, timeout=10, hard_stop=True)
