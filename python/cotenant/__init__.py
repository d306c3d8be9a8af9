"""Calls by which a Python program informs Cotenant, and asks about itself.

All of it is optional. Without ``cotenant run`` every function does nothing, on every operating system::

    import cotenant

    with cotenant.request() as request:  # best-effort work on the GPU is stopped now
        for token in generate(decode(body)):
            request.progress()
"""

from __future__ import annotations

import ctypes
import os
from contextlib import ContextDecorator
from typing import Any, Callable

__all__ = ["LONGEST_US", "announce", "is_active", "ready", "request", "role", "starting"]

LONGEST_US = 100_000
"""An announcement that no request follows ends after this many microseconds."""


def _native(name: str, *arguments: Any, result: Any = None) -> Callable[..., Any] | None:
    """A function of the preloaded library (native/include/cotenant.h); None in a process without it."""
    try:
        # PyDLL keeps the interpreter's lock. The call takes microseconds, and another thread that gets the lock
        # meanwhile may keep it for milliseconds.
        function = getattr(ctypes.PyDLL(None), name)
    except (AttributeError, OSError, TypeError):  # not preloaded; a static Python; Windows
        return None
    function.argtypes = list(arguments)
    function.restype = result
    return function


_announce = _native("cotenant_announce", ctypes.c_uint)
_starting = _native("cotenant_starting")
_ready = _native("cotenant_ready")
_begin = _native("cotenant_request_begin", result=ctypes.c_ulonglong)
_began = _native("cotenant_request_began", ctypes.c_ulonglong, result=ctypes.c_ulonglong)
_progress = _native("cotenant_request_progress", ctypes.c_ulonglong, ctypes.c_uint)
_end = _native("cotenant_request_end", ctypes.c_ulonglong)
_fail = _native("cotenant_request_fail", ctypes.c_ulonglong)


def announce(microseconds: int = 10_000) -> None:
    """Say that a request is about to arrive: it was read from a socket, or it is being decoded.

    In a high client, best-effort work on the GPU of this thread's current context is stopped now instead of at the
    request's first launch. Without a current context this holds for every GPU that this process uses. The next launch
    or copy takes the announcement over. If none comes within ``microseconds`` (at most LONGEST_US), best-effort work
    goes on.

    It never waits. In a best-effort client, before the first use of the GPU, without an agent and without Cotenant it
    does nothing.
    """
    if microseconds < 0:
        raise ValueError("microseconds must not be negative, but it is {}".format(microseconds))
    if _announce is not None:
        _announce(int(min(microseconds, LONGEST_US)))


class request(ContextDecorator):
    """A request, as a context manager or as the decorator of a function that is not a coroutine.

    Its begin is announced; with ``microseconds=0`` it is not. A request that uses no GPU after all stops best-effort work
    for ``microseconds``.

    It is measured from its begin to its end, for ``cotenant run --slo e2e.p99=…``, ``cotenant status`` and the metrics.
    ``progress`` tells of each token, or piece, of its answer: for ``ttft``, ``tpot`` and ``itl``. A request that an
    exception leaves has failed, and is in none of these but the times of tokens before.

    Where begin and end are not in one block, as in a server that serves many at once, call ``begin``, ``progress`` and
    ``end`` (or ``fail``) from any thread. One object is one request at a time.
    """

    def __init__(self, microseconds: int = 10_000) -> None:
        if microseconds < 0:
            raise ValueError("microseconds must not be negative, but it is {}".format(microseconds))
        self.microseconds = microseconds
        self._handle = 0

    def _recreate_cm(self) -> request:
        # Each call of a decorated function is a request of its own.
        return type(self)(self.microseconds)

    def begin(self, ago: float = 0) -> request:
        """The program has got it, ``ago`` seconds ago. Said again, another request begins, and this one has failed."""
        self.fail()
        if self.microseconds > 0:
            announce(self.microseconds)
        if ago > 0 and _began is not None:
            self._handle = _began(int(min(ago, 3600) * 1e6))
        elif _begin is not None:
            self._handle = _begin()
        return self

    def progress(self, units: int = 1) -> None:
        """Report `units` more tokens, or pieces, of its answer. Does nothing before its start and after its end."""
        if units < 1:
            raise ValueError("units must be at least 1, but it is {}".format(units))
        if _progress is not None and self._handle:
            _progress(self._handle, int(min(units, 2**32 - 1)))

    def end(self) -> None:
        """It is answered. Nothing where it has not begun or has ended."""
        handle, self._handle = self._handle, 0
        if _end is not None and handle:
            _end(handle)

    def fail(self) -> None:
        """It has failed or was cancelled. Nothing where it has not begun or has ended."""
        handle, self._handle = self._handle, 0
        if _fail is not None and handle:
            _fail(handle)

    def __enter__(self) -> request:
        return self.begin()

    def __exit__(self, failure: Any = None, *more: Any) -> None:
        if failure is None:
            self.end()
        else:
            self.fail()


def ready() -> None:
    """Say that this program serves from now on, so every request is protected, also the first one.

    From then on only ``starting()`` begins a start-up: Cotenant no longer judges that by the program's work. Call it in
    the process that uses the GPU.
    """
    if _ready is not None:
        _ready()


class starting:
    """Say that this program loads, captures or compiles, so it shares the GPU until ``ready()``.

    A plain call says it. As a context manager it also calls ``ready()`` at the end, even after an exception. It may be
    called before the first use of the GPU, and again before another model is loaded.
    """

    def __init__(self) -> None:
        if _starting is not None:
            _starting()

    def __enter__(self) -> starting:
        return self

    def __exit__(self, *failure: Any) -> None:
        ready()


def role() -> str | None:
    """``"high"`` or ``"best-effort"`` if this process was started as a client of Cotenant, else None.

    Whether the agent has given it a slot is what ``cotenant status`` shows.
    """
    off = os.environ.get("COTENANT_OFF", "0") not in ("", "0")
    if _announce is None or off:
        return None
    given = os.environ.get("COTENANT_CLASS")
    return given if given in ("high", "best-effort") else None


def is_active() -> bool:
    """Whether this process was started as a client of Cotenant."""
    return role() is not None
