"""Answers that are given again for as long as nothing has changed that they depend on.

The code that makes an answer follows the log *before* it reads anything else, and the answer is cached
under that moment. What is changed while it is being made comes later in the log: so such an answer
is never given to anybody else.
"""

from __future__ import annotations

import marshal
import pickle
import zlib
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from versioning.domain.agents import AGENT
from versioning.domain.bounded_cache import BoundedCache
from versioning.domain.prompt_blocks import PROMPT_BLOCK
from versioning.domain.resolved_agent import ResolvedAgent
from versioning.serving import choice
from versioning.serving.followed_log import Dependency, FollowedLog, Moment, log
from versioning.serving.parts import AgentParts

ENTRY_BYTES: Final = 350
"""The bytes of the objects around what is packed of an answer, as measured."""

COMPRESSED_BYTES: Final = 4096
"""Up to so many bytes an answer is compressed, which takes some microseconds and leaves half of most."""

_COMPRESSED: Final = 0x78
"""The first byte of what zlib writes; marshal begins no tuple with it."""

UNPACKED_SHARE: Final = 16
"""One of so many bytes is for the answers that were given last, unpacked: unpacking takes 6 µs."""

_SHOWN: Final = "shown"
"""The question to which prompt blocks an agent refers."""

Fingerprints = tuple[tuple[Dependency, Hashable], ...]


class CachedAnswer(NamedTuple):
    """An answer, and what it takes for it to be right."""

    made: Moment
    dependencies: tuple[Dependency, ...]
    fingerprints: Fingerprints
    content: Any


class PendingAnswer:
    """An answer that is being made: since when, and what it depends on."""

    def __init__(self, cache: AnswerCache, begun: Moment) -> None:
        self._cache = cache
        self.begun = begun
        self._found: dict[Dependency, Hashable | None] = {}

    def depends_on(self, *dependencies: Dependency) -> None:
        """Add what it depends on; of what the log does not tell everything, before that is read."""
        for one in dependencies:
            if one not in self._found:
                self._found[one] = self._cache.fingerprint(one)

    def finish(self, key: Hashable, answer: Any) -> None:
        """Cache the answer, made of Python's plain values, if it is known what it depends on."""
        if not self._found or None in self._found.values():
            return
        fingerprints = tuple((one, found) for one, found in self._found.items() if found != ())
        packed = marshal.dumps((*self.begun, tuple(self._found), answer))
        if len(packed) <= COMPRESSED_BYTES:
            packed = zlib.compress(packed, 1)
        self._cache.put(key, packed, fingerprints)


class AnswerCache:
    """Answers by key, for all threads of a process, bounded by the bytes that they take.

    A key holds what an answer can depend on besides what is stored, such as the rights of
    whoever asks. `fingerprint` says what the log does not tell: `versioning.editor.dependencies`.
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
    def used(self) -> int:
        """The bytes in use."""
        return self._packed.used + self._unpacked.used

    def find(self, key: Hashable) -> CachedAnswer | None:
        """Return the answer that is cached, right or not."""
        found = self._unpacked.get(key)
        if found is not None:
            return found
        held = self._packed.get(key)
        if held is None:
            return None
        packed, fingerprints = (held, ()) if isinstance(held, bytes) else held
        if packed[0] == _COMPRESSED:
            packed = zlib.decompress(packed)
        step, made_at, dependencies, content = marshal.loads(packed)  # noqa: S302  was packed above
        found = CachedAnswer(Moment(step, made_at), dependencies, fingerprints, content)
        self._unpacked.put(key, found, len(packed) + ENTRY_BYTES)
        return found

    def is_right(
        self, answer: CachedAnswer, now: Moment, fingerprint: Callable[[Dependency], Hashable] | None = None
    ) -> bool:
        """Say whether a cached answer is right at this moment.

        `fingerprint` may remember fingerprints that were taken since then.
        """
        made, dependencies, fingerprints, _ = answer
        taken = fingerprint or self.fingerprint
        return self.log.is_right(made, dependencies, now) and all(
            taken(one) == found for one, found in fingerprints
        )

    def get(self, key: Hashable, now: Moment) -> Any:
        """Return the content of the answer, if it is right at this moment; else None."""
        found = self.find(key)
        return found.content if found is not None and self.is_right(found, now) else None

    def put(self, key: Hashable, packed: bytes, fingerprints: Fingerprints) -> None:
        """Cache an answer as a `PendingAnswer` has packed it."""
        # Objects of Python take more than most answers, and there can be many: so each is one of bytes.
        self._packed.put(key, (packed, fingerprints) if fingerprints else packed, len(packed) + ENTRY_BYTES)
        self._unpacked.pop(key)

    def clear(self) -> None:
        """Forget everything."""
        self._packed.clear()
        self._unpacked.clear()

    def remembered(self, key: Hashable, dependency: Dependency, make: Callable[[], Any]) -> Any:
        """Return an answer of Python's plain values, made or cached until its one dependency changes."""
        now = self.log.follow() if self._packed.size else None
        if now is None:
            return make()
        held = self.get(key, now)
        if held is not None:
            return held
        pending = PendingAnswer(self, now)
        pending.depends_on(dependency)
        made = make()
        pending.finish(key, made)
        return made

    def resolved(self, agent_id: str, asked: Hashable, make: Callable[[], ResolvedAgent]) -> ResolvedAgent:
        """Return a resolved agent, made or cached; a copy, which is the caller's own to change."""
        now = self.log.follow() if self._packed.size else None
        if now is None:
            return make()
        key = agent_id, asked
        pickled: bytes | None = self.get(key, now)
        if pickled is not None:
            held: ResolvedAgent = pickle.loads(pickled)  # noqa: S301  was made below
            return held
        pending = PendingAnswer(self, now)
        pending.depends_on((AGENT.slug, agent_id))
        made = make()
        pending.depends_on(*dependencies_of(made))
        pending.finish(key, pickle.dumps(made))
        return made

    def parts(
        self, agent_id: str, asked: Hashable, context: Mapping[str, Any], make: Callable[[], AgentParts]
    ) -> AgentParts:
        """Return the parts of an agent for a context, made or cached: once for each arm."""
        now = self.log.follow() if self._packed.size else None
        if now is None:
            return make()
        key = agent_id, asked, choice.arms(AGENT, [agent_id], context)
        is_varied = choice.speaks_of(PROMPT_BLOCK)  # then it has to be known which blocks the agent shows
        shown = self.get((key, _SHOWN), now) if is_varied else ()
        if shown is not None:
            pickled = self.get((key, choice.arms(PROMPT_BLOCK, shown, context)), now)
            if pickled is not None:
                held: AgentParts = pickle.loads(pickled)  # noqa: S301  was made below
                return held
        pending = PendingAnswer(self, now)
        pending.depends_on((AGENT.slug, agent_id))
        made = make()
        pending.depends_on(*made.depends_on)
        if is_varied:
            pending.finish((key, _SHOWN), tuple(made.texts))
        pending.finish((key, choice.arms(PROMPT_BLOCK, made.texts, context)), pickle.dumps(made))
        return made


def dependencies_of(agent: ResolvedAgent) -> Iterable[Dependency]:
    """Return what a resolved agent depends on: itself, and every block that its instructions refer to."""
    yield AGENT.slug, agent.id
    for report in agent.blocks:
        if report.id is not None:
            yield PROMPT_BLOCK.slug, report.id
    yield from agent.depends_on
