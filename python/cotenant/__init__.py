"""What a Python program may tell Cotenant, and ask about itself.

All of it is optional. Without ``cotenant run`` every function does nothing, on every operating system::

    import cotenant

    with cotenant.request():  # best-effort work on the GPU is stopped now
        answer = model(decode(body))
"""

from __future__ import annotations

import ctypes
import os
from contextlib import ContextDecorator
from typing import Any, Callable

__all__ = ["LONGEST_US", "announce", "is_active", "ready", "request", "role", "starting"]

LONGEST_US = 100_000
"""An announcement that no request follows ends after this many microseconds."""


def _native(name: str, *arguments: Any) -> Callable[..., None] | None:
    """A function of the preloaded library (native/include/cotenant.h); None in a process without it."""
    try:
        # PyDLL keeps the interpreter's lock. The call takes microseconds, and another thread that gets the lock
        # meanwhile may keep it for milliseconds.
        function = getattr(ctypes.PyDLL(None), name)
    except (AttributeError, OSError, TypeError):  # not preloaded; a static Python; Windows
        return None
    function.argtypes = list(arguments)
    function.restype = None
    return function


_announce = _native("cotenant_announce", ctypes.c_uint)
_starting = _native("cotenant_starting")
_ready = _native("cotenant_ready")


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

    Its begin is announced. Its end needs no call, because Cotenant sees when the request's work on the GPU is done. A
    request that uses no GPU after all stops best-effort work for ``microseconds``.
    """

    def __init__(self, microseconds: int = 10_000) -> None:
        self.microseconds = microseconds

    def __enter__(self) -> request:
        announce(self.microseconds)
        return self

    def __exit__(self, *failure: Any) -> None:
        return None


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
