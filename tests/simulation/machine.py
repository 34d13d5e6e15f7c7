"""Every door by which something goes live or can be read, used by anybody in any order.

Each rule asks the oracle first, and then the editor, which has to do or to refuse the same.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar, Final, NamedTuple

from django.utils import timezone
from editor_client.shared.arms import Arm
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from capabilities.evaluation.datasets.verbs import Datasets
from capabilities.evaluation.gates.verbs import Change, Gates
from capabilities.releases.verbs import Releases
from capabilities.review.policy import ReviewPolicies
from capabilities.review.reviews import Reviews
from capabilities.rollouts.verbs import Rollouts
from capabilities.schedules.verbs import Schedules, Times
from tests.simulation.oracle import ADMIN, APPLICATION, EDITOR, PUBLISHER, VIEWER
from tests.simulation.records import DRAFTS, Config, Gate, Key, Move, Resource, Rollout, Version
from tests.simulation.world import AGENT, BLOCK, HOMES, KEY, LABEL, ROBOT, ROLES, SCORER, World

PEOPLE = ["alice", "paula", "peter", "edgar", "bert", ROBOT]
# What leads to more comes up more often: an agent with its block, and who may do everything.
somebody = st.sampled_from([*PEOPLE, KEY, KEY, *[APPLICATION] * 6])
agents = st.sampled_from([*[(AGENT, "writer")] * 3, (AGENT, "lead")])
shown = st.sampled_from([*[(AGENT, "writer"), (BLOCK, "tone")] * 3, (AGENT, "lead"), (BLOCK, "rules")])
KEYS: Final = [(AGENT, "writer"), (BLOCK, "tone"), (SCORER, "judge"), (AGENT, "lead"), (BLOCK, "rules")]
keys = st.sampled_from(
    [*[(AGENT, "writer"), (BLOCK, "tone")] * 3, (AGENT, "lead"), (BLOCK, "rules"), (SCORER, "judge")]
)
words = st.sampled_from([*(f"good{one}" for one in DRAFTS), "bad1", "bad2", "bad3"])
named = st.sampled_from([("tone",), ("tone",), (), ("tone", "rules")])
numbers = st.sampled_from([-1, -1, 0, 1, 2])
"""Which version: the newest, or one of the oldest."""
events = st.sampled_from([None, None, None, "purge", "remove", "scorer", "block", "demote", "revoke"])
weights = st.sampled_from([0, 3000, 10_000])


class Draft(NamedTuple):
    """What somebody saves and publishes, after so many approvals, and what goes wrong before it is live."""

    who: str
    key: Key
    word: str
    blocks: Sequence[str]
    approvals: int
    meanwhile: str | None
    is_scheduled: bool


class Waiting(NamedTuple):
    """A schedule that nobody has run, of one who was allowed to make it while this was live."""

    id: str
    who: str
    moves: list[Move]
    live: list[Version | None]


class Published(NamedTuple):
    """A release that nobody has taken back, and what was live before."""

    id: str
    moves: list[Move]
    before: list[Version | None]


class Simulation(RuleBasedStateMachine):
    """One life of an installation."""

    steps: ClassVar[int] = 0
    """How many were made in all lives."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.oracle, self.editor = self.world.oracle, self.world.editor
        self.both, self.by = self.world.both, self.world.by
        self.waiting: list[Waiting] = []
        self.published: list[Published] = []

    def teardown(self) -> None:
        """Forget this life."""
        self.world.end()

    @invariant()
    def applications_get_what_they_may(self) -> None:
        """See that nobody reads what the oracle does not allow, and that nothing saved is lost."""
        Simulation.steps += 1
        self.world.look()

    @initialize(
        home=st.sampled_from(HOMES),
        shows=named,
        required=st.integers(0, 1),
        rule=st.sampled_from(["", "allPass", "noNewFailures", "noNewFailures"]),
    )
    def begin(self, home: str, shows: tuple[str, ...], required: int, rule: str) -> None:
        """Let there be something of every kind and live, perhaps under review, or with a gate."""
        first: list[tuple[Key, str, tuple[str, ...]]] = [
            ((BLOCK, "tone"), "acme", ()),
            ((BLOCK, "rules"), home, ()),
            ((AGENT, "writer"), "acme", shows),
            ((AGENT, "lead"), "acme", ("tone", "rules")),
            ((SCORER, "judge"), "acme", ()),
        ]
        for key, where, blocks in first:
            self.born(APPLICATION, key, where, "good1", blocks=blocks, publish=True)
        for _ in range(2):
            self.change_dataset("alice", "add")
        self.policy("alice", "acme", required)
        if rule:
            self.gate("alice", (AGENT, "writer"), rule)

    def find(self, key: Key, number: int = 0) -> tuple[Resource, Version] | tuple[None, None]:
        """Return the resource of an id, if there is one, and one of its versions."""
        resource = self.oracle.resources.get(key)
        return (resource, resource.kept[number % len(resource.kept)]) if resource else (None, None)

    # Saving

    @precondition(lambda self: len(self.oracle.resources) < len(KEYS))
    @rule(who=somebody, home=st.sampled_from(HOMES), word=words, blocks=named, publish=st.booleans())
    def create(self, who: str, home: str, word: str, *, blocks: Sequence[str], publish: bool) -> None:
        """Make a resource that is missing, perhaps in the place of another one."""
        key = next(one for one in KEYS if one not in self.oracle.resources)
        self.born(who, key, home, word, blocks=blocks, publish=publish)

    def born(self, who: str, key: Key, home: str, word: str, blocks: Sequence[str], *, publish: bool) -> None:
        config, fields = self.world.fields(key, word, blocks)
        resource = Resource(key, next(self.oracle.lives), home)
        self.oracle.resources[key] = resource
        create = partial(self.world.verbs(key).create, fields, id=key[1], workspace=home, publish=publish)
        if not self.saved(who, resource, config, lambda: create(by=self.by(who)), publish=publish):
            del self.oracle.resources[key]

    @rule(who=somebody, key=keys, word=words, blocks=named, publish=st.booleans())
    def edit(self, who: str, key: Key, word: str, blocks: Sequence[str], *, publish: bool) -> None:
        """Save a draft, and perhaps publish it at once."""
        resource, _ = self.find(key)
        if resource is not None:
            config, fields = self.world.fields(key, word, blocks)
            edit = partial(self.world.verbs(key).edit, key[1], fields, publish=publish)
            edited = partial(self.saved, who, resource, config, lambda: edit(by=self.by(who)))
            edited(publish=publish, same=resource.kept[-1])

    @rule(who=somebody, key=keys, word=words, blocks=named)
    def edit_live(self, who: str, key: Key, word: str, blocks: Sequence[str]) -> None:
        """Change what is live, past a draft that waits."""
        resource, _ = self.find(key)
        if resource is not None:
            config, fields = self.world.fields(key, word, blocks)
            live = resource.active or resource.kept[-1]
            publish = config != live.config or resource.active in {None, resource.kept[-1]}
            edit = partial(self.world.verbs(key).edit_live, key[1], fields)
            edited = partial(self.saved, who, resource, config, lambda: edit(by=self.by(who)))
            edited(publish=publish, same=live, least=PUBLISHER)

    def saved(
        self,
        who: str,
        resource: Resource,
        config: Config,
        verb: Callable[[], Any],
        *,
        publish: bool,
        same: Version | None = None,
        least: int = EDITOR,
    ) -> bool:
        """Save a configuration, unless it is the `same` as a version's; return whether it was allowed."""
        is_new = same is None or config != same.config
        version = self.oracle.new_version(resource, config, who) if is_new or same is None else same
        resource.versions += [version] if is_new else []
        move = Move(resource, version)
        expected = self.oracle.lacks(who, least, resource)
        real = self.both(expected or (self.oracle.refusal(who, [move]) if publish else None), verb)
        if real is None:
            del resource.versions[len(resource.versions) - is_new :]
            return False
        version.id = real.version.version_id
        if publish:
            self.oracle.make(who, [move])
        return True

    @rule(who=somebody, key=keys, number=numbers)
    def restore(self, who: str, key: Key, number: int) -> None:
        """Save a copy of a version."""
        resource, source = self.find(key, number)
        if resource is not None and source is not None:
            restore = partial(self.world.verbs(key).restore, key[1], source.id)
            self.saved(who, resource, source.config, lambda: restore(by=self.by(who)), publish=False)

    @rule(who=somebody, key=keys, number=numbers)
    def delete_version(self, who: str, key: Key, number: int) -> None:
        """Delete a version that nothing needs."""
        resource, version = self.find(key, number)
        if resource is None or version is None or resource.kept == [version]:
            return
        labelled = [one for one, _ in resource.labels.values()]
        planned = [move.version for waiting in self.waiting for move in waiting.moves]
        if version in [*(one for one, _ in resource.gettable({})), *labelled, *planned]:
            return
        least = EDITOR if version is resource.kept[-1] else PUBLISHER
        if self.oracle.lacks(who, least, resource) is None:
            self.world.verbs(key).delete_version(key[1], version.id, by=self.by(who))
            self.oracle.forget(version)

    # What is live

    def moved(self, who: str, moves: list[Move], verb: Callable[[], Any]) -> Any:
        """Move what the oracle allows; return what the verb returned, or None."""
        real = self.both(self.oracle.refusal(who, moves), verb)
        if real is not None:
            self.oracle.make(who, moves)
        return real

    @rule(who=somebody, key=keys, number=numbers)
    def publish(self, who: str, key: Key, number: int) -> None:
        """Publish a version."""
        resource, version = self.find(key, number)
        if resource is not None and version is not None:
            publish = partial(self.world.verbs(key).publish, key[1], version.id)
            self.moved(who, [Move(resource, version)], lambda: publish(by=self.by(who)))

    @rule(
        drafts=st.lists(
            st.builds(Draft, somebody, shown, words, named, st.integers(0, 2), events, st.booleans()),
            min_size=1,
            max_size=4,
        )
    )
    def improve(self, drafts: Sequence[Draft]) -> None:
        """Save a draft, collect approvals and what the gates lack, and publish it, as people do all day."""
        for draft in drafts:
            self.publish_with_evidence(draft)

    def publish_with_evidence(self, draft: Draft) -> None:
        self.edit(APPLICATION, draft.key, draft.word, draft.blocks, publish=False)
        for reviewer in ("alice", "paula")[: draft.approvals]:
            self.judge(reviewer, draft.key, -1, "approve")
        if draft.meanwhile == "scorer":
            self.delete(APPLICATION, (SCORER, "judge"), draft.word, again=True)
        self.evaluate(draft.key, -1)
        if draft.is_scheduled:
            self.schedule(draft.who, draft.key, -1)
        self.go_wrong(draft.meanwhile, draft.word)
        if not draft.is_scheduled:
            self.publish(draft.who, draft.key, -1)
        while draft.is_scheduled and self.waiting:
            self.let_time_pass()
        if draft.meanwhile == "demote":
            self.set_role("paula", PUBLISHER)
        elif draft.meanwhile == "purge":
            self.change_dataset("alice", "remove")
        self.applications_get_what_they_may()

    def go_wrong(self, what: str | None, word: str) -> None:
        if what == "block":
            self.delete(APPLICATION, (BLOCK, "rules"), word, again=True)
        elif what == "demote":
            self.set_role("paula", EDITOR)
        elif what in {"purge", "remove"}:
            self.change_dataset("alice", what)
        elif what == "revoke":
            self.revoke_key(is_time=True)

    @rule(who=somebody, key=keys)
    def unpublish(self, who: str, key: Key) -> None:
        """Take a resource down."""
        resource, _ = self.find(key)
        if resource is not None:
            unpublish = partial(self.world.verbs(key).unpublish, key[1])
            self.moved(who, [Move(resource, None)], lambda: unpublish(by=self.by(who)))

    @rule(who=somebody, key=st.sampled_from(KEYS), again=st.sampled_from([True, True, False]), word=words)
    def delete(self, who: str, key: Key, word: str, *, again: bool) -> None:
        """Delete a resource, so that its id is free, and perhaps put a namesake in its place."""
        resource, _ = self.find(key)
        if resource is not None:
            expected = self.oracle.refusal(who, [Move(resource, None)])
            self.both(expected, lambda: self.world.verbs(key).delete(key[1], by=self.by(who)))
            if expected is None:
                self.oracle.remove(resource)
                if again:
                    self.born(who, key, resource.home, word, blocks=("tone",), publish=True)

    @rule(who=somebody, key=keys, number=numbers, released=st.booleans())
    def label(self, who: str, key: Key, number: int, released: bool) -> None:
        resource, version = self.find(key, number)
        if resource is None or version is None:
            return
        label = partial(self.world.verbs(key).label, key[1], LABEL, version.id, released=released)
        if released and resource.labels.get(LABEL) != (version, True):
            self.moved(who, [Move(resource, version, label=LABEL)], lambda: label(by=self.by(who)))
        elif self.both(self.oracle.lacks(who, PUBLISHER, resource), lambda: label(by=self.by(who))):
            resource.labels[LABEL] = version, released

    @rule(who=somebody, key=keys)
    def unlabel(self, who: str, key: Key) -> None:
        """Remove the label."""
        resource, _ = self.find(key)
        if resource is not None and LABEL in resource.labels:
            unlabel = partial(self.world.verbs(key).unlabel, key[1], LABEL)
            if self.both(self.oracle.lacks(who, PUBLISHER, resource), lambda: unlabel(by=self.by(who))):
                del resource.labels[LABEL]

    @rule(who=somebody, key=agents, is_public=st.booleans())
    def show(self, who: str, key: Key, is_public: bool) -> None:
        """Change who may read an agent."""
        resource, _ = self.find(key)
        if resource is not None:
            expected = self.oracle.lacks(
                who, EDITOR if resource.is_public == is_public else PUBLISHER, resource
            )
            show = partial(
                self.world.verbs(key).edit, key[1], visibility="public" if is_public else "private"
            )
            if self.both(expected, lambda: show(by=self.by(who))):
                resource.is_public = is_public

    # Rollouts

    @rule(who=somebody, key=shown, number=numbers, weight=weights)
    def start_rollout(self, who: str, key: Key, number: int, weight: int) -> None:
        """Give a version to a share of the requests."""
        resource, version = self.find(key, number)
        if resource is None or version is None or resource.active is None or resource.rollout:
            return
        arms = [Arm(name="new", version_id=version.id, weight=weight)]
        start = partial(self.editor.capability(Rollouts).start, *key, bucket_by="userId", arms=arms)
        real = self.moved(who, [Move(resource, version, is_arm=True)], lambda: start(by=self.by(who)))
        if real is not None:
            resource.rollout = Rollout(str(real.pk), real.seed, version, weight)

    @rule(who=somebody, key=shown, weight=weights)
    def widen(self, who: str, key: Key, weight: int) -> None:
        """Change the share of the requests."""
        resource, _ = self.find(key)
        rollout = resource.rollout if resource else None
        if resource is None or rollout is None:
            return
        change = partial(self.editor.capability(Rollouts).change, rollout.id, [("new", weight)])
        if weight > rollout.weight:
            arm = Move(resource, rollout.version, is_arm=True)
            done = self.moved(who, [arm], lambda: change(by=self.by(who)))
        else:
            done = self.both(self.oracle.lacks(who, PUBLISHER, resource), lambda: change(by=self.by(who)))
        rollout.weight = weight if done else rollout.weight

    @rule(who=somebody, key=shown, completes=st.booleans())
    def end_rollout(self, who: str, key: Key, completes: bool) -> None:
        """Give the version of a rollout to everybody, or stop it, and perhaps publish the version then."""
        resource, _ = self.find(key)
        rollout = resource.rollout if resource else None
        if resource is None or rollout is None:
            return
        rollouts = self.editor.capability(Rollouts)
        if completes:
            resource.rollout = None
            complete = partial(rollouts.complete, rollout.id, "new")
            done = self.moved(who, [Move(resource, rollout.version)], lambda: complete(by=self.by(who)))
        else:
            expected = self.oracle.lacks(who, PUBLISHER, resource)
            done = self.both(expected, lambda: rollouts.stop(rollout.id, by=self.by(who)))
        resource.rollout = None if done else rollout
        if done and not completes and not rollout.version.is_deleted:
            self.publish(APPLICATION, key, resource.kept.index(rollout.version))

    # Releases and schedules

    @rule(
        who=somebody,
        home=st.sampled_from(HOMES),
        items=st.dictionaries(shown, st.none() | numbers, min_size=1, max_size=3),
        later=st.booleans(),
    )
    def release(self, who: str, home: str, items: dict[Key, int | None], later: bool) -> None:
        """Publish and unpublish several resources together, now or later."""
        moves = []
        for key, number in sorted(items.items(), key=lambda one: (one[0][0] == AGENT, one[0])):
            resource, version = self.find(key, number or 0)
            if resource is not None and resource.home == home:
                moves.append(Move(resource, None if number is None else version))
        if not moves:
            return
        release = str(self.editor.capability(Releases).create(home, title="x", items=[*map(_item, moves)]).pk)
        if not later:
            self.publish_release(who, release, moves)
        elif who != KEY:
            create = partial(self.editor.capability(Schedules).create_for_release, release, _tomorrow())
            self.planned(who, moves, create)

    def publish_release(self, who: str, release: str, moves: list[Move]) -> None:
        before = [move.resource.active for move in moves]
        expected = self.oracle.refusal(who, moves)
        expected = expected if expected in {None, "rights"} else "blocked"
        if self.both(expected, lambda: self.editor.capability(Releases).publish(release, by=self.by(who))):
            self.oracle.make(who, moves)
            self.published.append(Published(release, moves, before))

    @precondition(lambda self: self.published)
    @rule(who=somebody)
    def revert(self, who: str) -> None:
        """Take the newest release back, as far as it is still live."""
        release, moves, before = self.published.pop()
        back = [
            Move(move.resource, version)
            for move, version in zip(moves, before, strict=True)
            if self.oracle.resources.get(move.resource.key) is move.resource
            and move.resource.active is move.version is not version
        ]
        reverting = str(self.editor.capability(Releases).revert(release).release.pk)
        if back and not any(move.version and move.version.is_deleted for move in back):
            self.publish_release(who, reverting, back)

    @rule(who=somebody, key=keys, number=st.none() | numbers)
    def schedule(self, who: str, key: Key, number: int | None) -> None:
        """Plan to publish a version, or to take a resource down."""
        resource, version = self.find(key, number or 0)
        if resource is not None and version is not None:
            given: dict[str, Any] = {"action": "unpublish"} if number is None else {"version_id": version.id}
            create = partial(self.editor.capability(Schedules).create, *key, _tomorrow(), **given)
            self.planned(who, [Move(resource, None if number is None else version)], create)

    def planned(self, who: str, moves: list[Move], create: Callable[..., Any]) -> None:
        lacks = [self.oracle.lacks(who, PUBLISHER, move.resource) for move in moves]
        real = self.both("rights" if any(lacks) else None, lambda: create(by=self.by(who)))
        if real is not None:
            self.waiting.append(Waiting(str(real.pk), who, moves, [move.resource.active for move in moves]))

    @precondition(lambda self: self.waiting)
    @rule()
    def let_time_pass(self) -> None:
        """Let the time of the oldest schedule come."""
        schedule, who, moves, live = self.waiting.pop(0)
        is_there = all(self.oracle.resources.get(move.resource.key) is move.resource for move in moves)
        is_expected = [move.resource.active for move in moves] == live
        runs = is_there and is_expected and self.oracle.refusal(who, moves) is None
        state = self.world.run_schedule(schedule)
        assert (state == "done") == runs, f"the schedule is {state}, and the oracle says {runs}"
        if runs:
            self.oracle.make(who, moves)

    # Review

    @rule(
        who=st.sampled_from(PEOPLE),
        key=keys,
        number=numbers,
        verdict=st.sampled_from(["approve", "requestChanges", "withdraw"]),
    )
    def judge(self, who: str, key: Key, number: int, verdict: str) -> None:
        """Give a verdict on a version, which is under review then."""
        resource, version = self.find(key, number)
        if resource is None or version is None:
            return
        reviews = self.editor.capability(Reviews)
        known = reviews.records_of([*reviews.list(kind=key[0], resource_id=key[1])])
        review = next((one for one in known if one.state not in {"published", "closed"}), None)
        if review is not None and review.version_id != version.id:
            reviews.change(str(review.id), is_closed=True)
            review = None
        review = review or reviews.ask(*key, version_id=version.id)
        expected = self.oracle.lacks(who, PUBLISHER, resource)
        if expected is None and who == ROBOT:
            expected = "not_a_person"
        elif expected is None and who in resource.authors(version):
            expected = "own_change"
        give = partial(reviews.give_verdict, str(review.id), version_id=version.id, verdict=verdict)
        if self.both(expected, lambda: give(by=self.by(who))):
            resource.verdicts.setdefault(version.config, {})[who] = verdict, self.oracle.named(version)

    @rule(
        who=st.sampled_from(["alice", "alice", "paula"]),
        home=st.sampled_from(HOMES),
        required=st.integers(0, 2),
    )
    def policy(self, who: str, home: str, required: int) -> None:
        """Require approvals."""
        expected = None if self.oracle.role(who, home) >= ADMIN else "rights"
        policies = self.editor.capability(ReviewPolicies)
        if self.both(expected, lambda: policies.set(home, required=required, by=self.by(who))):
            self.oracle.required[home] = required

    # Evidence

    @rule(
        who=st.sampled_from([*PEOPLE, *[APPLICATION] * 6]),
        key=agents,
        rule=st.sampled_from(["allPass", "noNewFailures"]),
    )
    def gate(self, who: str, key: Key, rule: str) -> None:
        """Ask for evidence before an agent goes live."""
        for dead in [one for one in self.oracle.gates if self.oracle.scorer(one) is None]:
            self.editor.capability(Gates).delete(dead.id)
            self.oracle.gates.remove(dead)
        (agent, _), (scorer, _) = self.find(key), self.find((SCORER, "judge"))
        if agent is None or scorer is None or scorer.active is None or len(self.oracle.gates) > 2:
            return
        if agent.home == scorer.home == "acme":
            given = {"dataset_id": self.world.dataset, "scorer_ids": ["judge"], "rules": [{"rule": rule}]}
            create = partial(self.editor.capability(Gates).create, given, agent_id=key[1])
            real = self.both(self.oracle.lacks(who, PUBLISHER, agent), lambda: create(by=self.by(who)))
            if real is not None:
                self.oracle.gates.append(Gate(str(real.pk), agent.life, scorer.life, rule))

    @precondition(lambda self: self.oracle.gates)
    @rule(number=numbers, is_on=st.sampled_from([True, True, False]))
    def turn_gate(self, number: int, is_on: bool) -> None:
        """Turn a gate off, or on again."""
        gate = self.oracle.gates[number % len(self.oracle.gates)]
        self.editor.capability(Gates).change(gate.id, {"enabled": is_on})
        gate.is_on = is_on

    @rule(key=shown, number=numbers)
    def evaluate(self, key: Key, number: int) -> None:
        """Run the experiments that the gates lack for a version."""
        resource, version = self.find(key, number)
        if resource is None or version is None:
            return
        asked = [*self.oracle.asked(APPLICATION, Move(resource, version), {})]
        scorers = [self.oracle.scorer(gate) for gate, _, _ in asked]
        if asked and all(one is None or one.active for one in scorers):
            self.editor.capability(Gates).run(Change(*key, version.id))
            self.world.run_experiments()
            for gate, agent, lock in asked:
                self.oracle.note_run(gate, agent, lock)

    @rule(who=st.sampled_from(PEOPLE), change=st.sampled_from(["add", "add", "remove", "remove", "purge"]))
    def change_dataset(self, who: str, change: str) -> None:
        """Add an item, or remove the newest, or its content."""
        datasets, item = self.editor.capability(Datasets), self.world.items[-1]
        rests = any(one.is_on for one in self.oracle.gates)
        expected = None if self.oracle.role(who, "acme") >= (PUBLISHER if rests else EDITOR) else "rights"
        if change == "add":
            self.both(expected, lambda: self.world.add_item(self.by(who)))
        elif change == "remove" and len(self.world.items) > 1:
            if self.both(expected, lambda: datasets.remove(self.world.dataset, [item], by=self.by(who))):
                self.world.items.remove(item)
                self.oracle.purged.discard(item)
                self.oracle.dataset += 1
        elif change == "purge" and len(self.world.items) > 1:
            self.both(expected, lambda: datasets.purge(self.world.dataset, item, by=self.by(who)))
            self.oracle.purged |= set() if expected else {item}

    # Rights

    @rule(
        who=st.sampled_from(["paula", "peter", "edgar"]), role=st.sampled_from([0, VIEWER, EDITOR, PUBLISHER])
    )
    def set_role(self, who: str, role: int) -> None:
        """Give somebody another role, or none."""
        self.editor.workspace.set_role("acme", who, ROLES.get(role))
        self.oracle.roles[who, "acme"] = role

    @precondition(lambda self: self.oracle.keys[KEY][2])
    @rule(is_time=st.sampled_from([True, False, False, False, False, False]))
    def revoke_key(self, is_time: bool) -> None:
        if not is_time or not self.oracle.keys[KEY][2]:
            return
        self.editor.key.revoke(self.world.key.prefix)
        owner, workspace, _, prefix = self.oracle.keys[KEY]
        self.oracle.keys[KEY] = owner, workspace, 0, prefix


def _item(move: Move) -> dict[str, Any]:
    kind, resource_id = move.resource.key
    version = {"versionId": move.version.id} if move.version else {}
    action = "publish" if move.version else "unpublish"
    return {"resource": {"kind": kind, "id": resource_id}, "action": action, **version}


def _tomorrow() -> Times:
    moment = timezone.now().replace(second=0, microsecond=0) + datetime.timedelta(days=1)
    return Times(run_at=moment.isoformat())
