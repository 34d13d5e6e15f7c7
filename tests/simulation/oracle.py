"""What applications may get, said once more and plainly: who may do what, what was approved, evaluated, live.

It knows neither rows nor the editor's code, and reads like the contract. `refusal` says of every door why a
change must not be made, and `make` makes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count, product
from typing import Final

from tests.simulation.records import Config, Gate, Key, Lock, Move, Moved, Names, Resource, Version, sound

VIEWER, EDITOR, PUBLISHER, ADMIN = range(1, 5)
APPLICATION: Final = "application"


class Oracle:
    """The world as it has to be."""

    def __init__(self, roles: Mapping[tuple[str, str], int], robots: set[str]) -> None:
        self.roles, self.robots = dict(roles), robots
        self.keys: dict[str, tuple[str, str, int, str]] = {}
        """Of each key the owner, the workspace, the highest role, and how the ids begin that it reaches."""
        self.resources: dict[Key, Resource] = {}
        self.required: dict[str, int] = {}
        self.gates: list[Gate] = []
        self.dataset, self.purged = 0, set[str]()
        self.evidence: dict[tuple[int, Lock, int, int, str], bool] = {}
        """Whether all items passed: of an agent's life, what ran, the dataset's version, and the scorer."""
        self.lives = count(1)

    # Who may do what

    def role(self, who: str, home: str, about: str = "") -> int:
        """Return the role of a person or key in a workspace, as far as it reaches `about`."""
        if who in self.keys:
            owner, workspace, most, prefix = self.keys[who]
            reaches = workspace == home and about.startswith(prefix)
            return min(most, self.role(owner, home)) if reaches else 0
        return ADMIN if who == APPLICATION else self.roles.get((who, home), 0)

    def lacks(self, who: str, least: int, resource: Resource) -> str | None:
        return None if self.role(who, resource.home, resource.key[1]) >= least else "rights"

    # What is saved and shown

    def new_version(self, resource: Resource, config: Config, author: str) -> Version:
        return Version(len(resource.versions) + 1, config, self.keys.get(author, [author])[0])

    def block(self, name: str) -> Resource | None:
        return self.resources.get(("promptBlock", name))

    def named(self, version: Version) -> frozenset[int]:
        return frozenset(one.life for name in version.names if (one := self.block(name)))

    def lock(
        self,
        agent: Resource,
        version: Version,
        moved: Moved,
        granted: Names | None = None,
    ) -> Lock:
        """Return what a version of an agent says if other versions were live of what moved."""
        shown, granted = [], version.granted if granted is None else granted
        for name in dict.fromkeys(version.names):
            block = self.block(name)
            if block and (block.home == agent.home or block.life == granted.get(name)):
                live = moved.get(block.life, block.active)
                shown += [(name, block.life, live.config)] if live else []
        return Lock(version.config, tuple(shown))

    def read(self, who: str, agent: Resource, user: str, label: str | None = None) -> str | None:
        """Return the instructions that a reader without the right to drafts gets."""
        if not agent.is_public and self.lacks(who, VIEWER, agent):
            return None
        version = agent.active
        if label is not None:
            named, is_released = agent.labels.get(label, (None, False))
            version = named if is_released or named is agent.active else None
        elif version and agent.rollout:
            version = agent.rollout.version_for(user) or version
        blocks = [one for one in self.resources.values() if one.rollout and one.key[0] == "promptBlock"]
        arms = {one.life: arm for one in blocks if one.rollout and (arm := one.rollout.version_for(user))}
        return self.lock(agent, version, arms).text if version else None

    # What may go live

    def refusal(self, who: str, moves: Sequence[Move]) -> str | None:
        """Return why changes of what is live must not be made together; None if they may."""
        together = {move.resource.life: move.version for move in moves}
        reasons = [self.lacks(who, PUBLISHER, move.resource) for move in moves]
        reasons += [self._refusal(who, move, together) for move in moves]
        return next((one for one in reasons if one), None)

    def _refusal(self, who: str, move: Move, together: Moved) -> str | None:
        resource, version = move.resource, move.version
        if resource.active is version is None:
            return None
        if version is not None:
            is_same = version is resource.active and move.label is None
            if is_same and self._grants(who, resource, version) == version.granted:
                return None
            if not self._shows_what_is_live(who, version, together):
                return "blocks"
            if not self.is_approved(resource, version):
                return "review"
        if resource.rollout and move.label is None and not move.is_arm:
            return "rollout"
        lacks = [
            lock
            for gate, agent, lock in self.asked(who, move, together)
            if not agent.was_live(lock) and not self.is_proven(gate, agent, lock)
        ]
        return "gate" if lacks else None

    def _shows_what_is_live(self, who: str, version: Version, together: Moved) -> bool:
        blocks = [self.block(name) for name in version.names]
        return all(
            one and self.role(who, one.home, one.key[1]) and together.get(one.life, one.active)
            for one in blocks
        )

    def _grants(self, who: str, resource: Resource, version: Version) -> Names:
        kept = version.granted if version is resource.active else {}
        blocks = {name: self.block(name) for name in version.names}
        return {
            name: one.life if one and self.role(who, one.home, name) else kept.get(name)
            for name, one in blocks.items()
        }

    def is_approved(self, resource: Resource, version: Version) -> bool:
        """Return whether enough people approve of a version, where that is required."""
        required, named = self.required.get(resource.home, 0), self.named(version)
        if not required or (version.config, named) in resource.approved_by_use:
            return True
        excluded = resource.authors(version) | self.robots
        counted = [
            verdict
            for person, (verdict, about) in resource.verdicts.get(version.config, {}).items()
            if person not in excluded and about == named and not self.lacks(person, PUBLISHER, resource)
        ]
        return counted.count("approve") >= required and "requestChanges" not in counted

    def asked(self, who: str, move: Move, together: Moved) -> Iterator[tuple[Gate, Resource, Lock]]:
        """Yield the gates that a change asks, with the agent and what it would say."""
        moved = {**together, move.resource.life: move.version}
        agents = {one.life: one for one in self.resources.values()}
        for gate in [one for one in self.gates if one.is_on]:
            agent = agents[gate.agent]
            if agent is move.resource and move.version is not None:
                granted = self._grants(who, agent, move.version)
                for arms in self._combinations(move.version, moved):
                    yield gate, agent, self.lock(agent, move.version, {**moved, **arms}, granted)
            for version, after in agent.gettable(moved) if agent is not move.resource else ():
                if after and move.resource.key[1] in after.names:
                    for arms in self._combinations(after, moved):
                        lock = self.lock(agent, after, {**moved, **arms})
                        if lock != self.lock(agent, version, arms):
                            yield gate, agent, lock

    def _combinations(self, version: Version, moved: Moved) -> Iterator[Moved]:
        blocks = [one for one in map(self.block, version.names) if one and one.life not in moved]
        offered = [[one.active, one.rollout.version] for one in blocks if one.rollout]
        lives = [one.life for one in blocks if one.rollout]
        yield from (dict(zip(lives, chosen, strict=True)) for chosen in product(*offered))

    def is_proven(self, gate: Gate, agent: Resource, lock: Lock) -> bool:
        """Return whether the evidence for what an agent would say satisfies a gate."""
        here = self.result(gate, agent, lock)
        if here is None or gate.rule == "allPass" or agent.last_live is None:
            return here is not None and (here or gate.rule != "allPass")
        is_known = not agent.last_live.is_deleted
        live = self.result(gate, agent, self.lock(agent, agent.last_live, {})) if is_known else None
        return live is not None and (here or not live)

    def scorer(self, gate: Gate) -> Resource | None:
        return next((one for one in self.resources.values() if one.life == gate.scorer), None)

    def result(self, gate: Gate, agent: Resource, lock: Lock) -> bool | None:
        scorer = self.scorer(gate)
        if scorer is None or scorer.active is None or self.purged:
            return None
        return self.evidence.get((agent.life, lock, self.dataset, scorer.life, scorer.active.id))

    def note_run(self, gate: Gate, agent: Resource, lock: Lock) -> None:
        """Note what a run shows that a gate lacks: items pass if the agent says nothing but its word."""
        scorer, live = self.scorer(gate), agent.last_live
        is_needed = not agent.was_live(lock) and not self.is_proven(gate, agent, lock)
        if not scorer or not scorer.active or self.purged or not is_needed:
            return
        wants_live = live is not None and not live.is_deleted and gate.rule != "allPass"
        for one in [lock, *([self.lock(agent, live, {})] if live and wants_live else [])]:
            about = (agent.life, one, self.dataset, scorer.life, scorer.active.id)
            self.evidence[about] = {*map(sound, one.text.split())} == {*scorer.active.config}

    # What changes

    def make(self, who: str, moves: Sequence[Move]) -> None:
        for move in moves:
            resource, version = move.resource, move.version
            if version is not None:
                granted = self._grants(who, resource, version)
                if version is resource.active and move.label is None and granted == version.granted:
                    continue  # it is live already, and nothing is published
                version.granted = granted
            if move.label is not None and version is not None:
                resource.labels[move.label] = version, True
            elif not move.is_arm:
                resource.active, resource.last_live = version, version or resource.last_live
                if version is not None:
                    version.was_active = True
                    resource.approved_by_use.add((version.config, self.named(version)))
        self._look()

    def _look(self) -> None:
        """Note what is live of each agent, with everything that it shows.

        What is live beside it, and it could have been granted, makes that unknown: the log names no grants.
        """
        for agent in self.resources.values():
            if agent.key[0] == "agent" and agent.active:
                lock = self.lock(agent, agent.active, {})
                blocks = [self.block(name) for name, _, _ in lock.shown]
                named = map(self.block, agent.active.names)
                if any(one and one.active and one not in blocks for one in named):
                    continue
                versions = [agent.active, *(one.active for one in blocks if one)]
                agent.lived.add((lock, frozenset(one.id for one in versions if one)))

    def forget(self, version: Version) -> None:
        """Delete a version: what it was in, nobody can tell any more."""
        version.is_deleted = True
        for agent in self.resources.values():
            agent.lived = {one for one in agent.lived if version.id not in one[1]}

    def remove(self, resource: Resource) -> None:
        """End a life; the gates of an agent end with it."""
        del self.resources[resource.key]
        self._look()
        self.gates = [one for one in self.gates if one.agent != resource.life]
