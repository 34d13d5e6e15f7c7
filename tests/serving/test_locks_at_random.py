"""After any change a lock gives the same bytes or is refused: in random worlds."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Api
from tests.support.locks import lock, prompts_of
from tests.support.people import give_role
from tests.support.runs import ECHO, run
from tests.support.served import reference, text
from versioning.domain.access import Role
from versioning.models import Agent, AgentVersion, Membership
from versioning.models.guarded import unguard

NAMES = ("ant", "bee", "cat", "dog")
READERS = ("alice", "edgar", "vera", "charlie")


class World:
    """Agents and blocks of two workspaces that refer to each other, and people who may read some of them."""

    def __init__(self, cast: Cast, seed: int) -> None:
        self.random = random.Random(seed)
        self.cast = cast
        self.count = 0
        for workspace in ("acme", "elsewhere"):
            give_role("edgar", workspace, Role.PUBLISHER)
        for name in NAMES:
            self.make(PROMPT_BLOCKS, name)
        for name in NAMES:
            self.make(AGENTS, name)
        for name in (*NAMES, *NAMES):
            self.save(AGENTS, name)

    def owner(self) -> Api:
        api: Api = self.random.choice([self.cast.alice, self.cast.charlie])
        return api

    def content(self, kind: Any) -> Any:
        """Return a text that is there once, with references for agents."""
        self.count += 1
        said = f"{kind.path} {self.count}"
        if kind is PROMPT_BLOCKS:
            return said
        return [text(said), *(reference(one) for one in self.random.sample(NAMES, 2))]

    def fields(self, kind: Any, name: str) -> dict[str, Any]:
        if kind is PROMPT_BLOCKS:
            return {}
        others = [one for one in NAMES if one > name]  # so that no agent leads back to itself
        agents = {one: {} for one in self.random.sample(others, min(len(others), self.random.randint(0, 2)))}
        return {"agents": agents, "model": ECHO, "visibility": self.random.choice(["public", "private"])}

    def make(self, kind: Any, name: str) -> None:
        body = {"id": name, "name": name, kind.text: self.content(kind), **self.fields(kind, name)}
        owner = self.owner()
        if owner.post(kind.path, {**body, "autoPublish": self.random.random() < 0.8}).status >= 400:
            owner.post(kind.path, {**body, "autoPublish": False})

    def save(self, kind: Any, name: str) -> None:
        """Save a resource as a random permitted person; versions that cannot be published stay drafts."""
        body = {kind.text: self.content(kind), **self.fields(kind, name)}
        people = [self.cast.alice, self.cast.charlie, *[self.cast.edgar] * 3]
        for api in self.random.sample(people, 2):
            if api.patch(kind.url(name), {**body, "autoPublish": True}).status >= 400:
                api.patch(kind.url(name), body)

    def change(self) -> None:
        """Make a random change that affects what is served, or to whom."""
        kind, name = self.random.choice([AGENTS, PROMPT_BLOCKS]), self.random.choice(NAMES)
        changes: list[Callable[[], Any]] = [
            lambda: self.save(kind, name),
            lambda: self.save(kind, name),
            lambda: [api.post(kind.url(name, "unpublish")) for api in (self.cast.alice, self.cast.charlie)],
            lambda: [api.delete(kind.url(name)) for api in (self.cast.alice, self.cast.charlie)],
            lambda: self.make(kind, name),
            lambda: unguard(Agent.objects.filter(pk=name)).update(
                visibility=self.random.choice(["public", "private"])
            ),
            self.publish_again,
            self.change_roles,
        ]
        self.random.choice(changes)()

    def publish_again(self) -> None:
        """Publish a random version as a random permitted person, which renews its grants."""
        versions = AgentVersion.objects.order_by("resource_id", "number")
        for version in self.random.sample(list(versions), min(1, len(versions))):
            for api in (self.cast.edgar, self.cast.paula, self.cast.charlie):
                api.post(AGENTS.url(version.resource_id, "versions", version.version_id, "activate"))

    def change_roles(self) -> None:
        name = self.random.choice(["edgar", "vera"])
        Membership.objects.filter(user__username=name).delete()
        give_role(name, self.random.choice(["acme", "elsewhere"]), self.random.choice(list(Role)))


def said(answer: Any) -> Any:
    return prompts_of(answer.body)


@pytest.mark.parametrize("seed", [0])
def test_a_lock_gives_the_same_bytes_or_is_refused(cast: Cast, seed: int) -> None:
    world = World(cast, seed)
    made: list[tuple[str, str, dict[str, Any], Any]] = []
    for reader in READERS:
        api = getattr(cast, reader)
        for name in NAMES:
            before, answer = run(api, name), lock(api, ("agent", name))
            assert (before.status == 200) == (answer.status == 200), (reader, name, before.body, answer.body)
            if answer.status == 200:
                assert said(run(api, name, versions=answer.body)) == said(before), (reader, name)
                made.append((reader, name, answer.body, said(before)))
    assert made
    used = 0
    for _ in range(3):
        for _ in range(3):
            world.change()
        for reader in READERS:
            api = getattr(cast, reader)
            for maker, name, kept, before in made:
                answer = run(api, name, versions=kept)
                if answer.status == 200:
                    used += 1
                    assert said(answer) == before, (reader, maker, name)
                    assert may_run(name, api, cast), (reader, maker, name)
                else:
                    assert (answer.status, answer.code) in {(424, "lock_broken"), (403, "forbidden")}
    assert used


def may_run(name: str, api: Api, cast: Cast) -> bool:
    """Return whether the caller is a member of the workspace of an agent, or the agent is public."""
    agent = Agent.objects.get(pk=name)
    [who] = [one for one in READERS if getattr(cast, one) is api]
    members = Membership.objects.filter(user__username=who, workspace=agent.workspace)
    return agent.visibility == "public" or members.exists()
