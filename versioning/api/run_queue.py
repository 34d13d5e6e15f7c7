"""How many requests of a process wait for models at once, and the queue of those whose turn has not come.

A model takes seconds or minutes, during which its request occupies a thread. So these requests have a
limit of their own and, under `manage.py serve`, threads of their own: all others go on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from functools import wraps
from threading import RLock
from typing import Any, Final, TypeVar, cast

from django.conf import settings
from django.core.handlers.asgi import ASGIRequest
from django.http import StreamingHttpResponse
from django.urls import Resolver404, resolve

from versioning.api.request_bodies import REFUSAL, Refusal
from versioning.domain.errors import VersioningError
from versioning.models import connections

RETRY_AFTER: Final = 5
"""Seconds after which a refused caller may try again."""

ADMITTED: Final = "editor.run_admitted"
"""The key in a WSGI environment or an ASGI scope that says that the server holds a place for the request."""

_Handler = TypeVar("_Handler", bound=Callable[..., Any])


class RunsFull(VersioningError):
    """As many runs as the process may have are in progress, and as many wait."""

    code = "runs_full"

    def __init__(self) -> None:
        count = settings.EDITOR_RUN_THREADS
        super().__init__(f"The server has {count} runs in progress, and as many wait. Try again soon.")


class Place:
    """The place of a request among the runs of the process, in progress or waiting."""

    def __init__(self, queue: RunQueue) -> None:
        self._queue = queue
        self.turn: Future[None] = Future()
        """Done when the run may begin."""
        self.is_left = False

    def leave(self) -> None:
        """Give up the place, whose run is over or was never to begin; the next one may begin."""
        self._queue.leave(self)

    def __del__(self) -> None:
        # A server that drops an answer without closing it would take the place for ever.
        self.leave()


class RunQueue:
    """The places of a process: `EDITOR_RUN_THREADS` runs in progress, and as many that wait, in order."""

    def __init__(self) -> None:
        # A place that is collected leaves, in whichever thread and wherever that thread is.
        self._lock = RLock()
        self._running = 0
        self._waiting: deque[Place] = deque()

    def join(self) -> Place:
        """Return a new place; raises `RunsFull`."""
        place = Place(self)
        with self._lock:
            if self._running >= settings.EDITOR_RUN_THREADS:
                if len(self._waiting) >= settings.EDITOR_RUN_THREADS:
                    place.is_left = True
                    raise RunsFull
                self._waiting.append(place)
                return place
            self._running += 1
        place.turn.set_result(None)
        return place

    def leave(self, place: Place) -> None:
        """Give up a place, once."""
        following = None
        with self._lock:
            if place.is_left:
                return
            place.is_left = True
            if place in self._waiting:
                self._waiting.remove(place)
            elif self._waiting:
                following = self._waiting.popleft()
            else:
                self._running -= 1
        if following is not None:
            following.turn.set_result(None)


runs: Final = RunQueue()
"""Those of this process."""


def waits_for_models(handler: _Handler) -> _Handler:
    """Mark the handler of a view, of REST framework or of Django, whose requests wait for models.

    It takes a place among the runs of the process, unless the server has taken one for the request, and keeps
    it until the answer is complete. Then the request waits in its thread, and if its client leaves meanwhile,
    its turn comes all the same. The handler raises `RunsFull`.
    """

    @wraps(handler)
    def handle(view: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        django_request = getattr(request, "_request", request)
        is_asgi = isinstance(django_request, ASGIRequest)
        server: dict[str, Any] = django_request.scope if is_asgi else django_request.META
        if server.get(ADMITTED):
            return handler(view, request, *args, **kwargs)
        if server.get(REFUSAL) is Refusal.RUNS_FULL:
            raise RunsFull
        place = runs.join()
        try:
            if not place.turn.done():
                connections.give_back()
                place.turn.result()
            server[ADMITTED] = True  # for another handler that this one calls
            answer = handler(view, request, *args, **kwargs)
        except BaseException:
            place.leave()
            raise
        if isinstance(answer, StreamingHttpResponse):
            closers: list[Callable[[], None]] = answer._resource_closers  # type: ignore[attr-defined]  # noqa: SLF001
            closers.append(place.leave)
        else:
            place.leave()
        return answer

    handle.waits_for_models = True  # type: ignore[attr-defined]
    return cast("_Handler", handle)


def is_run(method: str, path: str) -> bool:
    """Return whether a request of this method to this path waits for models."""
    if method != "POST":
        return False
    try:
        view: Any = resolve(path).func
    except Resolver404:
        return False
    views = getattr(view, "cls", None) or getattr(view, "view_class", None)
    handler = getattr(views, getattr(view, "actions", {}).get("post", "post"), None)
    return getattr(handler, "waits_for_models", False)
