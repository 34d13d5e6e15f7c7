"""What there is in an installation, as the oracle knows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final, NamedTuple

BUCKETS: Final = 10_000

Key = tuple[str, str]
"""A kind and an id."""
Config = tuple[str, ...]
"""Words, and ids of prompt blocks after an `@`."""
DRAFTS: Final = "123456"


def sound(word: str) -> str:
    """Return what a scorer hears of a word; written in many ways, so that what is saved is often new."""
    return word.rstrip(DRAFTS)


Names = Mapping[str, int | None]
"""Ids of prompt blocks, and which of their lives are meant."""


@dataclass(eq=False)
class Version:
    """What somebody saved; `granted` are the prompt blocks that it may show wherever they are."""

    number: int
    config: Config
    author: str
    id: str = ""
    was_active: bool = False
    is_deleted: bool = False
    granted: Names = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        return [part[1:] for part in self.config if part.startswith("@")]


class Lock(NamedTuple):
    """An agent with the prompt blocks that it shows: their ids, lives and texts."""

    config: Config
    shown: tuple[tuple[str, int, Config], ...]

    @property
    def text(self) -> str:
        blocks = {name: " ".join(config) for name, _, config in self.shown}
        parts = [blocks.get(part[1:], "") if part.startswith("@") else part for part in self.config]
        return "\n\n".join(part for part in parts if part)


@dataclass(eq=False)
class Rollout:
    """One arm, which begins at the first bucket."""

    id: str
    seed: str
    version: Version
    weight: int

    def version_for(self, user: str) -> Version | None:
        digest = sha256(f"{self.seed}\n{user}".encode()).digest()
        return self.version if int.from_bytes(digest[:8], "big") % BUCKETS < self.weight else None


Moved = Mapping[int, Version | None]
"""What would be live of resources, by their lives."""


@dataclass(eq=False)
class Resource:
    """One life of an id, in the workspace that is its home."""

    key: Key
    life: int
    home: str
    is_public: bool = False
    versions: list[Version] = field(default_factory=list)
    active: Version | None = None
    last_live: Version | None = None
    labels: dict[str, tuple[Version, bool]] = field(default_factory=dict)
    """The version, and whether everybody may get it by this name."""
    rollout: Rollout | None = None
    approved_by_use: set[tuple[Config, frozenset[int]]] = field(default_factory=set)
    """Configurations that were active, with the lives of what they named then."""
    lived: set[tuple[Lock, frozenset[str]]] = field(default_factory=set)
    """What was live of an agent, with everything that it showed, and the versions that tell of it."""
    verdicts: dict[Config, dict[str, tuple[str, frozenset[int]]]] = field(default_factory=dict)

    @property
    def kept(self) -> list[Version]:
        return [one for one in self.versions if not one.is_deleted]

    def gettable(self, moved: Moved) -> list[tuple[Version, Version | None]]:
        """Return what applications can get, and what they get instead if other versions were live."""
        named = [version for version, is_released in self.labels.values() if is_released]
        named += [self.rollout.version] if self.rollout else []
        active = [(self.active, moved.get(self.life, self.active))] if self.active else []
        return [*active, *((one, one) for one in named)]

    def was_live(self, lock: Lock) -> bool:
        return any(lock == one for one, _ in self.lived)

    def authors(self, version: Version) -> set[str]:
        before = self.versions[: version.number - 1]
        since = max((one.number for one in before if one.was_active), default=0)
        return {one.author for one in self.versions[since : version.number]}


@dataclass(eq=False)
class Move:
    """A version goes live, by a label or as an arm perhaps; or nothing is live any more (None)."""

    resource: Resource
    version: Version | None
    label: str | None = None
    is_arm: bool = False


@dataclass(eq=False)
class Gate:
    """What the agent of one life has to show, by the scorer of one life."""

    id: str
    agent: int
    scorer: int
    rule: str
    is_on: bool = True
