"""The requests of an engine, by its own ids, as Cotenant is told of them."""

from __future__ import annotations

import functools
import inspect
import sys
from typing import Any, Callable

import cotenant


class Followed:
    """Requests that have begun and not ended. An id that is not known is ignored: the plugin came later, or it has ended."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[cotenant.request, int]] = {}

    def begin(self, name: str, ago: float = 0) -> None:
        if name not in self._open:
            self._open[name] = (cotenant.request(0).begin(ago), 0)

    def progress(self, name: str, units: int) -> None:
        found = self._open.get(name)
        if found is None or units < 1:
            return
        one, before = found
        one.progress(units)
        self._open[name] = (one, before + units)

    def progress_to(self, name: str, units: int) -> None:
        """It has made so many units in all."""
        found = self._open.get(name)
        if found is not None:
            self.progress(name, units - found[1])

    def end(self, name: str) -> None:
        found = self._open.pop(name, None)
        if found is not None:
            found[0].end()

    def drop(self, name: str) -> None:
        """It was aborted. An engine's front end aborts one that has made its stop string, so one with an answer has ended."""
        found = self._open.pop(name, None)
        if found is None:
            return
        if found[1] > 0:
            found[0].end()
        else:
            found[0].fail()

    def names(self) -> list[str]:
        return list(self._open)

    def unanswered(self) -> list[str]:
        return [name for name, (_, units) in self._open.items() if units == 0]


class Teller:
    """Calls what follows an engine's requests, and never lets an error of it reach the engine."""

    def __init__(self, engine: str) -> None:
        self._engine = engine
        self.followed = Followed()
        self.works = True

    def give_up(self, why: object) -> None:
        """Says once that requests are not told of any more, and forgets those that are open."""
        if not self.works:
            return
        self.works = False
        for name in self.followed.names():
            self.followed.drop(name)
        print(
            f"cotenant: the requests of this {self._engine} are not told of, because {why}; "
            "for objectives about requests state its endpoint (cotenant run --slo-metrics)",
            file=sys.stderr,
            flush=True,
        )

    def try_to(self, follow: Callable[..., None], *arguments: Any) -> None:
        if not self.works:
            return
        try:
            follow(self.followed, *arguments)
        except Exception as error:
            self.give_up(f"{type(error).__name__}: {error}")

    def after(self, owner: Any, name: str, follow: Callable[..., None]) -> None:
        """From now on ``follow(followed, result, *arguments)`` is called after the method of a class, or of an object."""
        method = getattr(owner, name)

        @functools.wraps(method)
        def told(*arguments: Any, **named: Any) -> Any:
            result = method(*arguments, **named)
            self.try_to(follow, result, *arguments, *named.values())
            return result

        setattr(owner, name, told)


def takes(owner: object, name: str, *parameters: str) -> str | None:
    """Why a function is not one that takes these parameters first; None if it is."""
    function = getattr(owner, name, None)
    if not callable(function):
        return f"it has no {name}"
    found = tuple(inspect.signature(function).parameters)[: len(parameters)]
    return None if found == parameters else f"its {name} takes ({', '.join(found)})"
