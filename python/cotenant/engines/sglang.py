"""Tells Cotenant of the requests of SGLang, from the processes of its scheduler, which use the GPUs.

SGLang loads this as a plugin of the group ``sglang.srt.plugins``; ``SGLANG_PLUGINS`` chooses among them. Run with SGLang
0.5.12, and checked against the sources of 0.5.15 and 0.5.23.
"""

from __future__ import annotations

from typing import Any

import cotenant

from .followed import Followed, Teller, takes

_teller: Teller | None = None
_PROBE = "HEALTH_CHECK"
"""SGLang's own requests have ids that begin so."""


def register() -> None:
    global _teller
    if _teller is not None or cotenant.role() != "high":
        return
    _teller = Teller("SGLang")
    try:
        from sglang.srt.managers.scheduler import Scheduler
    except Exception as error:
        _teller.give_up(f"{type(error).__name__}: {error}")
        return
    follow(_teller, Scheduler)


def follow(teller: Teller, scheduler: Any) -> None:
    why = (
        takes(scheduler, "_add_request_to_queue", "self", "req")
        or takes(scheduler, "process_batch_result", "self", "batch", "result")
        or takes(scheduler, "abort_request", "self", "recv_req")
    )
    if why is not None:
        teller.give_up(f"{why}, which this version does not expect of Scheduler")
        return
    teller.after(scheduler, "_add_request_to_queue", _queued)
    teller.after(scheduler, "process_batch_result", _processed)
    teller.after(scheduler, "abort_request", _aborted)


def _queued(followed: Followed, _result: Any, scheduler: Any, req: Any, *_more: Any) -> None:
    # One that was retracted comes again, and is known.
    if not req.rid.startswith(_PROBE) and not req.finished():
        followed.begin(req.rid)


def _processed(followed: Followed, _result: Any, scheduler: Any, batch: Any, *_more: Any) -> None:
    for req in batch.reqs:
        followed.progress_to(req.rid, len(req.output_ids))
        if not req.finished():
            continue
        if type(req.finished_reason).__name__ == "FINISH_ABORT":
            followed.drop(req.rid)
        else:
            followed.end(req.rid)


def _aborted(followed: Followed, _result: Any, scheduler: Any, recv_req: Any) -> None:
    # One that has made tokens is in a batch, which tells its end.
    for name in followed.unanswered():
        if recv_req.abort_all or name.startswith(recv_req.rid):
            followed.drop(name)
