"""Random actions in random order: exactly the versions that the rule allows go live."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from capabilities.review.models import Review, Verdict
from capabilities.review.outcomes import named_by, written
from tests.support.api import AGENTS, PROMPT_BLOCKS, Kind
from tests.support.doors import verbs
from tests.support.people import give_role, person
from versioning.conf import get_editor
from versioning.domain.errors import Forbidden, VersioningError
from versioning.models import Event, PromptBlock, Workspace, caller_for

pytestmark = pytest.mark.django_db

PEOPLE = ("ann", "bob", "cleo")
TEXTS = tuple("xyzuvw")

people, texts = st.sampled_from(PEOPLE), st.sampled_from(TEXTS)
numbers = st.integers(min_value=0, max_value=5)
steps = st.one_of(
    st.tuples(st.just("save"), people, texts),
    st.tuples(st.just("approve"), people, numbers),
    st.tuples(st.just("requestChanges"), people, numbers),
    st.tuples(st.just("withdraw"), people, numbers),
    st.tuples(st.just("role"), people, st.sampled_from(["editor", "publisher"])),
    st.tuples(st.just("policy"), st.just(""), st.integers(min_value=0, max_value=2)),
    st.tuples(st.just("delete"), st.just(""), numbers),
    st.tuples(st.just("publish"), st.just(""), numbers),
    st.tuples(st.just("rename"), people, numbers),
    st.tuples(st.just("forget"), st.just(""), numbers),
    st.tuples(st.just("swap"), st.just(""), numbers),
)


Step = tuple[str, str, Any]


@dataclass
class Model:
    """The rule in its simplest form."""

    required: int = 0
    live: int | None = None
    block: int = 0
    """How many namesakes have taken the place of the block that all versions of an agent name."""
    saved: list[tuple[str, str]] = field(default_factory=list)
    """Who saved version 1, 2, …, and which text."""
    said: dict[tuple[str, str], tuple[str, int]] = field(default_factory=dict)
    """The latest verdict of a person on a text, with the block of that moment."""
    roles: dict[str, str] = field(default_factory=lambda: dict.fromkeys(PEOPLE, "publisher"))
    were_live: set[tuple[str, int]] = field(default_factory=set)
    """The texts that were live, each with the block."""
    numbers_live: set[int] = field(default_factory=set)

    def allows(self, number: int) -> bool:
        """Say whether a version may go live."""
        text = self.saved[number - 1][1]
        first = max((one for one in self.numbers_live if one < number), default=0) + 1
        authors = {who for who, _ in self.saved[first - 1 : number]}
        verdicts = [
            verdict
            for (who, about), (verdict, block) in self.said.items()
            if (about, block) == (text, self.block) and who not in authors and self.roles[who] == "publisher"
        ]
        enough = verdicts.count("approve") >= self.required and "requestChanges" not in verdicts
        return self.required == 0 or (text, self.block) in self.were_live or enough


class World:
    """The editor, in which the same actions are performed."""

    def __init__(self, kind: Kind) -> None:
        self.kind, self.verbs, self.editor = kind, verbs(kind), get_editor()
        Workspace.objects.make("acme", "Acme")
        self.people = {name: person(name, acme="publisher").pk for name in PEOPLE}
        self.model = Model(saved=[("ann", "x")])
        Workspace.objects.make("free", "Free")
        self.swap("", 0)
        self.policy("", 1)
        made = self.verbs.create(
            {"name": "W", kind.text: self.text("x")},
            id="writer",
            workspace="acme",
            publish=False,
            by=self.caller("ann"),
        )
        self.versions = [made.version]
        self.deleted: set[int] = set()

    def caller(self, name: str) -> Any:
        return caller_for(self.user(name))

    def user(self, name: str) -> User:
        return User.objects.get(pk=self.people[name])

    def text(self, text: str) -> Any:
        if self.kind is not AGENTS:
            return text
        return [{"type": "text", "content": text}, {"type": "prompt_block_ref", "id": "tone"}]

    def do(self, what: str, who: str, value: Any) -> None:
        """Take a step, where it makes sense."""
        number = value % len(self.versions) + 1 if isinstance(value, int) else 0
        if what in {"approve", "requestChanges", "withdraw"}:
            self.say(who, what, number)
        else:
            getattr(self, what)(who, value if what in {"save", "role", "policy"} else number)

    def rename(self, who: str, _: int) -> None:
        user = self.user(who)
        User.objects.filter(pk=user.pk).update(username=f"{user.username}_")

    def forget(self, _: str, __: int) -> None:
        """Prune the log."""
        Event.objects.all()._raw_delete("default")

    def swap(self, _: str, __: int) -> None:
        """Replace the block by another one with the same id."""
        if self.kind is AGENTS:
            blocks = self.editor.prompt
            if PromptBlock.objects.filter(pk="tone").exists():
                blocks.delete("tone")
            blocks.create({"name": "T", "content": "t"}, id="tone", workspace="free", publish=True)
            self.model.block += 1

    def save(self, who: str, text: str) -> None:
        saved = self.verbs.edit("writer", {self.kind.text: self.text(text)}, by=self.caller(who))
        if saved.version.number > len(self.versions):
            self.versions.append(saved.version)
            self.model.saved.append((who, text))

    def say(self, who: str, verdict: str, number: int) -> None:
        """Say it by a row: an author's verdict is refused before it is stored, and must not count either."""
        version = self.versions[number - 1]
        resource = self.verbs.find("writer")
        about = {"kind": resource.kind.slug, "resource_id": "writer", "identity": resource.uuid}
        of = {"version_id": version.version_id, "version_number": number, "digest": version.digest}
        review = Review.objects.open().first() or Review.objects.create(**about, **of, workspace_id="acme")
        said = {"verdict": verdict, "named": written(named_by(resource, version))}
        Verdict.objects.create(**about, **of, review=review, author=self.user(who), author_name=who, **said)
        self.model.said[who, self.model.saved[number - 1][1]] = verdict, self.model.block

    def role(self, who: str, role: str) -> None:
        give_role(self.user(who).username, "acme", role)
        self.model.roles[who] = role

    def policy(self, _: str, required: int) -> None:
        self.editor.review_policy.set("acme", required=required)
        self.model.required = required

    def delete(self, _: str, number: int) -> None:
        """Delete a version, which leaves its author one."""
        try:
            self.verbs.delete_version("writer", self.versions[number - 1].version_id)
        except VersioningError:
            return
        self.deleted.add(number)

    def publish(self, _: str, number: int) -> None:
        """Publish, and compare with the model."""
        is_same = number == self.model.live and (self.model.saved[number - 1][1], self.model.block) in (
            self.model.were_live
        )
        if number in self.deleted or is_same:
            return
        refusal = None
        try:
            self.verbs.publish("writer", self.versions[number - 1].version_id)
        except Forbidden as error:
            refusal = error.code
        assert refusal == (None if self.model.allows(number) else "review_required"), self.model
        if refusal is None:
            self.model.live = number
            self.model.numbers_live.add(number)
            self.model.were_live.add((self.model.saved[number - 1][1], self.model.block))


@pytest.mark.parametrize("kind", [AGENTS, PROMPT_BLOCKS], ids=["agents", "prompt-blocks"])
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    done=st.lists(steps, min_size=4, max_size=25),
    required=st.integers(min_value=1, max_value=3),
    order=st.lists(numbers, min_size=3, max_size=6),
)
def test_exactly_what_the_rule_allows_goes_live(
    db: None, kind: Kind, done: list[Step], required: int, order: list[int]
) -> None:
    sid = transaction.savepoint()
    try:
        world = World(kind)
        for step in done:
            world.do(*step)
        # If all people approve all versions, only the authors matter.
        world.policy("", required)
        for number in order:
            for who in PEOPLE:
                world.do("approve", who, number)
            world.do("publish", "", number)
    finally:
        transaction.savepoint_rollback(sid)
