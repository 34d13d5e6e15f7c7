"""Cached answers, which are valid until one of their dependencies changes.

The code that makes an answer follows the log *before* it reads anything else, and the answer is cached under
that moment. Changes made in the meantime come later in the log, so an outdated answer is never given to
another caller.
"""

from __future__ import annotations

import marshal
import pickle
import zlib
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from versioning.domain.agents import AGENT, PROMPT_BLOCK, ResolvedAgent
from versioning.domain.bounded_cache import BoundedCache
from versioning.models import log_position
from versioning.serving import choice
from versioning.serving.followed_log import Dependency, FollowedLog, Moment, log
from versioning.serving.parts import AgentParts

ENTRY_BYTES: Final = 350
"""The measured size of the objects around a packed answer, in bytes."""

COMPRESSED_BYTES: Final = 4096
"""Larger answers are not compressed; compression takes some microseconds and halves most answers."""

_COMPRESSED: Final = 0x78
"""The first byte of zlib's output; no marshalled tuple begins with it."""

UNPACKED_SHARE: Final = 16
"""One in this many bytes is for the most recent answers, unpacked: unpacking takes 6 µs."""

_SHOWN: Final = "shown"
"""The cache key for the prompt blocks that an agent refers to."""

Fingerprints = tuple[tuple[Dependency, Hashable], ...]


class CachedAnswer(NamedTuple):
    """An answer with its dependencies."""

    moment: Moment
    dependencies: tuple[Dependency, ...]
    fingerprints: Fingerprints
    content: Any


class PendingAnswer:
    """An answer that is being made: when it was begun, and its dependencies."""

    def __init__(self, cache: AnswerCache, begun: Moment) -> None:
        self._cache = cache
        self.begun = begun
        self._fingerprints: dict[Dependency, Hashable | None] = {}

    def depends_on(self, *dependencies: Dependency) -> None:
        """Add dependencies; call it before reading anything that the log does not fully cover."""
        for dependency in dependencies:
            if dependency not in self._fingerprints:
                self._fingerprints[dependency] = self._cache.fingerprint(dependency)

    def finish(self, key: Hashable, answer: Any) -> None:
        """Cache the answer, made of plain Python values, if its dependencies are known."""
        if not self._fingerprints or None in self._fingerprints.values():
            return
        fingerprints = tuple(
            (dependency, fingerprint)
            for dependency, fingerprint in self._fingerprints.items()
            if fingerprint != ()
        )
        packed = marshal.dumps((*self.begun, tuple(self._fingerprints), answer))
        if len(packed) <= COMPRESSED_BYTES:
            packed = zlib.compress(packed, 1)
        self._cache.put(key, packed, fingerprints)


class AnswerCache:
    """Answers by key, for all threads of a process, bounded by the bytes that they take.

    A key contains the inputs of an answer besides stored data, such as the caller's rights. `fingerprint`
    covers changes that the log does not record: `versioning.editor.serving`.
    """

    def __init__(
        self,
        size: int,
        fingerprint: Callable[[Dependency], Hashable | None] = lambda _: (),
        followed: FollowedLog = log,
    ) -> None:
        self.fingerprint = fingerprint
        self.log = followed
        self._unpacked: BoundedCache[Hashable, CachedAnswer] = BoundedCache(size // UNPACKED_SHARE)
        self._packed: BoundedCache[Hashable, bytes | tuple[bytes, Fingerprints]] = BoundedCache(
            size - self._unpacked.size
        )

    def __len__(self) -> int:
        return len(self._packed)

    @property
    def bytes_used(self) -> int:
        """The bytes in use."""
        return self._packed.bytes_used + self._unpacked.bytes_used

    def find(self, key: Hashable) -> CachedAnswer | None:
        answer = self._unpacked.get(key)
        if answer is not None:
            return answer
        entry = self._packed.get(key)
        if entry is None:
            return None
        packed, fingerprints = (entry, ()) if isinstance(entry, bytes) else entry
        if packed[0] == _COMPRESSED:
            packed = zlib.decompress(packed)
        step, made_at, dependencies, content = marshal.loads(packed)  # noqa: S302  was packed above
        answer = CachedAnswer(Moment(step, made_at), dependencies, fingerprints, content)
        self._unpacked.put(key, answer, len(packed) + ENTRY_BYTES)
        return answer

    def is_right(
        self, answer: CachedAnswer, now: Moment, fingerprint: Callable[[Dependency], Hashable] | None = None
    ) -> bool:
        """Return whether a cached answer is still valid.

        `fingerprint` may return fingerprints that it has cached since then.
        """
        moment, dependencies, fingerprints, _ = answer
        compute = fingerprint or self.fingerprint
        return self.log.is_right(moment, dependencies, now) and all(
            compute(path) == expected for path, expected in fingerprints
        )

    def get(self, key: Hashable, now: Moment) -> Any:
        """Return the content of the answer if it is still valid, otherwise None."""
        answer = self.find(key)
        return answer.content if answer is not None and self.is_right(answer, now) else None

    def put(self, key: Hashable, packed: bytes, fingerprints: Fingerprints) -> None:
        """Cache an answer as a `PendingAnswer` has packed it."""
        # Python objects are larger than most answers, and there can be many, so each is stored as bytes.
        self._packed.put(key, (packed, fingerprints) if fingerprints else packed, len(packed) + ENTRY_BYTES)
        self._unpacked.pop(key)

    def clear(self) -> None:
        self._packed.clear()
        self._unpacked.clear()

    def get_or_make(
        self, key: Hashable, dependency: Dependency, make: Callable[[], Any], *more: Dependency
    ) -> Any:
        """Return an answer of plain Python values, made or cached until one of its dependencies changes."""
        now = self.log.follow() if self._packed.size else None
        if now is None:
            return make()
        cached = self.get(key, now)
        if cached is not None:
            return cached
        pending = PendingAnswer(self, now)
        pending.depends_on(dependency, *more)
        with log_position.primary():  # as of the moment under which it is cached
            content = make()
        pending.finish(key, content)
        return content

    def get_or_resolve(
        self, agent_id: str, request_key: Hashable, make: Callable[[], ResolvedAgent]
    ) -> ResolvedAgent:
        """Return a resolved agent, made or cached; it is a copy, which the caller may change."""
        now = self.log.follow() if self._packed.size else None
        if now is None:
            return make()
        key = agent_id, request_key
        pickled: bytes | None = self.get(key, now)
        if pickled is not None:
            cached: ResolvedAgent = pickle.loads(pickled)  # noqa: S301  was made below
            return cached
        pending = PendingAnswer(self, now)
        pending.depends_on((AGENT.slug, agent_id))
        with log_position.primary():  # as of the moment under which it is cached
            agent = make()
        pending.depends_on(*list_dependencies(agent))
        pending.finish(key, pickle.dumps(agent))
        return agent

    def parts(
        self, agent_id: str, request_key: Hashable, context: Mapping[str, Any], make: Callable[[], AgentParts]
    ) -> AgentParts:
        """Return the parts of an agent for a context, made or cached separately for each arm."""
        now = self.log.follow() if self._packed.size else None
        if now is None:
            return make()
        key = agent_id, request_key, choice.arms(AGENT, [agent_id], context)
        is_varied = choice.speaks_of(PROMPT_BLOCK)  # then the blocks that the agent shows must be known
        block_ids = self.get((key, _SHOWN), now) if is_varied else ()
        if block_ids is not None:
            pickled = self.get((key, choice.arms(PROMPT_BLOCK, block_ids, context)), now)
            if pickled is not None:
                cached: AgentParts = pickle.loads(pickled)  # noqa: S301  was made below
                return cached
        pending = PendingAnswer(self, now)
        pending.depends_on((AGENT.slug, agent_id))
        with log_position.primary():  # as of the moment under which it is cached
            parts = make()
        pending.depends_on(*parts.depends_on)
        if is_varied:
            pending.finish((key, _SHOWN), tuple(parts.texts))
        pending.finish((key, choice.arms(PROMPT_BLOCK, parts.texts, context)), pickle.dumps(parts))
        return parts


def list_dependencies(agent: ResolvedAgent) -> Iterable[Dependency]:
    """Return the dependencies of a resolved agent: itself and every block in its instructions."""
    yield AGENT.slug, agent.id
    for report in agent.blocks:
        if report.id is not None:
            yield PROMPT_BLOCK.slug, report.id
    yield from agent.depends_on
