"""Tells Cotenant of the requests of vLLM, from the process of its engine core.

It uses the GPU, or is the parent of the processes that do (tensor parallelism). vLLM loads this as a plugin
of the group ``vllm.general_plugins``; ``VLLM_PLUGINS`` chooses among them. Run with vLLM 0.22.1 and 0.25.1, and checked
against the sources of 0.33.0.
"""

from __future__ import annotations

import time
from typing import Any

import cotenant

from .followed import Followed, Teller, takes

_teller: Teller | None = None


def register() -> None:
    global _teller
    if _teller is not None or cotenant.role() != "high":
        return
    _teller = Teller("vLLM")
    try:
        from vllm.v1.engine.core import EngineCore
    except Exception as error:
        _teller.give_up(f"{type(error).__name__}: {error}")
        return
    follow(_teller, EngineCore)


def follow(teller: Teller, core: Any) -> None:
    why = (
        takes(core, "add_request", "self", "request")
        or takes(core, "step", "self")
        or takes(core, "step_with_batch_queue", "self")
    )
    if why is not None:
        teller.give_up(f"{why}, which this version does not expect of EngineCore")
        return

    def added(followed: Followed, _result: Any, engine: Any, request: Any, *_more: Any) -> None:
        if not hasattr(engine.scheduler.finish_requests, "__wrapped__"):
            teller.after(engine.scheduler, "finish_requests", _finished)
        # The API server got it, by the clock of all processes.
        followed.begin(request.request_id, max(0.0, time.time() - request.arrival_time))

    teller.after(core, "add_request", added)
    teller.after(core, "step", _stepped)
    teller.after(core, "step_with_batch_queue", _stepped)


def _finished(followed: Followed, _result: Any, request_ids: Any, *_more: Any) -> None:
    """Ends that the scheduler is told of: a user who has gone, a stop string, a pause. ``None``: of all requests."""
    if request_ids is None:
        request_ids = followed.names()
    for name in (request_ids,) if isinstance(request_ids, str) else request_ids:
        followed.drop(name)


def _stepped(followed: Followed, result: Any, core: Any, *_more: Any) -> None:
    by_client, _ = result
    for outputs in (by_client or {}).values():
        for output in outputs.outputs:
            followed.progress(output.request_id, len(output.new_token_ids))
            if output.finish_reason is None:
                continue
            if str(output.finish_reason) in ("abort", "error"):
                followed.drop(output.request_id)
            else:
                followed.end(output.request_id)
