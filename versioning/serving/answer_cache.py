"""Answers that are given again for as long as nothing has changed that they depend on.

Whoever makes an answer follows the log *before* it reads anything else, and the answer is cached
under that moment. What is changed while it is being made comes later in the log: so such an answer
is never given to anybody else.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Hashable, Iterable
from typing import Any, Final

from versioning.domain.bounded_cache import BoundedCache
from versioning.domain.resolved_agent import ResolvedAgent
from versioning.serving.followed_log import AGENT, PROMPT_BLOCK, Dependency, FollowedLog, Moment, log

ENTRY_BYTES: Final = 600
"""The bytes of the objects around a cached answer, as measured."""


class AnswerCache:
    """Answers by question, for all threads of a process, bounded by the bytes that they take.

    A question holds whatever an answer can depend on beside what is stored, such as the rights of
    whoever asks.
    """

    def __init__(self, size: int, followed: FollowedLog = log) -> None:
        self._log = followed
        self._held: BoundedCache[Hashable, tuple[Any, Moment, tuple[Dependency, ...]]] = BoundedCache(size)

    def __len__(self) -> int:
        return len(self._held)

    @property
    def used(self) -> int:
        """The bytes in use."""
        return self._held.used

    def get(self, question: Hashable, now: Moment) -> Any:
        """Return the answer, if it is right at this moment; else None."""
        held = self._held.get(question)
        if held is None:
            return None
        answer, made, dependencies = held
        return answer if self._log.is_right(made, dependencies, now) else None

    def put(
        self, question: Hashable, answer: Any, size: int, made: Moment, dependencies: Iterable[Dependency]
    ) -> None:
        """Cache an answer of so many bytes, which was begun at a moment."""
        self._held.put(question, (answer, made, tuple(dependencies)), size + ENTRY_BYTES)

    def clear(self) -> None:
        """Forget everything."""
        self._held.clear()

    def resolved(self, question: Hashable, make: Callable[[], ResolvedAgent]) -> ResolvedAgent:
        """Return a resolved agent, made or cached; a copy, which is the caller's own to change."""
        now = self._log.follow()
        pickled: bytes | None = now and self.get(question, now)
        if pickled is not None:
            held: ResolvedAgent = pickle.loads(pickled)  # noqa: S301  was made below
            return held
        made = make()
        if now is not None:
            pickled = pickle.dumps(made)
            self.put(question, pickled, len(pickled), now, dependencies_of(made))
        return made


def dependencies_of(agent: ResolvedAgent) -> set[Dependency]:
    """Return what a resolved agent depends on: itself, and every block that its instructions refer to."""
    blocks = {(PROMPT_BLOCK, report.id) for report in agent.blocks if report.id is not None}
    return {(AGENT, agent.id), *blocks}
