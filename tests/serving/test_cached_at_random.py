"""After random changes a cached answer equals a newly computed one, for every caller."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Answer, Api, Kind
from tests.support.door import FrontDoor
from tests.support.people import key_of
from tests.support.served import reference
from versioning.api import cached_answers
from versioning.domain.bounded_cache import BoundedCache
from versioning.models import Agent, ApiKey, Favorite, Membership, PromptBlock
from versioning.serving.followed_keys import keys

pytestmark = pytest.mark.usefixtures("committed_db")

STEPS = 20
QUESTIONS = 10
"""After each step; more of both, and of seeds, is for those who have changed the cache."""
SEEDS = [1]
IDS = ("one", "two", "team/three")
BLOCKS = ("tone", "facts")
WORKSPACES = ("acme", "elsewhere")
PEOPLE = ("alice", "paula", "edgar", "vera", "charlie")
LABEL = "stable"


class Chaos:
    """Random changes of everything that answers depend on."""

    def __init__(self, cast: Cast, seed: int) -> None:
        self.random = random.Random(seed)
        self.root = cast.root
        self.changes: list[Callable[[], object]] = [
            self.make, self.make, self.save, self.save, self.publish, self.publish, self.unpublish,
            self.delete,
            self.label, self.unlabel, self.record, self.clone, self.restore, self.like, self.role, self.leave,
            self.limit, self.revoke, self.switch, self.rename, self.superuser, self.in_bulk, self.revive,
            self.revive, self.make, self.make,
        ]  # fmt: skip

    def rarely(self) -> bool:
        return self.random.random() < 0.3

    def step(self) -> str:
        """Make a random change, and return its description."""
        change = self.random.choice(self.changes)
        return f"{change.__name__}: {change()}"

    def target(self) -> tuple[Kind, str]:
        kind = self.random.choice((AGENTS, AGENTS, PROMPT_BLOCKS))
        return kind, self.random.choice(IDS if kind is AGENTS else BLOCKS)

    def text(self, kind: Kind) -> Any:
        words = f"text {self.random.random()}"
        shows = kind is AGENTS and self.rarely()
        return [words, reference(self.random.choice(BLOCKS))] if shows else words

    def make(self) -> object:
        kind, name = self.target()
        more: dict[str, Any] = (
            {"visibility": self.random.choice(("public", "private"))} if kind is AGENTS else {}
        )
        body = kind.body(self.text(kind), id=name, workspaceId=self.random.choice(WORKSPACES), **more)
        return self.root.post(kind.path, {**body, "autoPublish": self.random.random() < 0.7}).status

    def save(self) -> object:
        kind, name = self.target()
        body = {kind.text: self.text(kind), "autoPublish": self.rarely()}
        return self.root.patch(kind.url(name), body).status

    def version(self, kind: Kind, name: str) -> str:
        found = self.root.get(kind.url(name, "versions"))
        return self.random.choice(found.body["versions"])["id"] if found.status == 200 else "none"

    def publish(self) -> object:
        kind, name = self.target()
        return self.root.post(kind.url(name, "versions", self.version(kind, name), "activate")).status

    def restore(self) -> object:
        kind, name = self.target()
        return self.root.post(kind.url(name, "versions", self.version(kind, name), "restore")).status

    def unpublish(self) -> object:
        kind, name = self.target()
        return self.root.post(kind.url(name, "unpublish")).status

    def delete(self) -> object:
        kind, name = self.target()
        return self.root.delete(kind.url(name)).status

    def label(self) -> object:
        kind, name = self.target()
        body = {"versionId": self.version(kind, name), "released": self.random.random() < 0.6}
        return self.root.put(kind.url(name, "labels", LABEL), body).status

    def unlabel(self) -> object:
        kind, name = self.target()
        return self.root.delete(kind.url(name, "labels", LABEL)).status

    def record(self) -> object:
        kind, name = self.target()
        body: dict[str, Any] = {"metadata": {"n": self.random.randrange(3)}}
        if kind is AGENTS:
            body["visibility"] = self.random.choice(("public", "private"))
        return self.root.patch(kind.url(name), body).status

    def clone(self) -> object:
        source, copy = self.random.sample(IDS, 2)
        body = {"newId": copy, "workspaceId": self.random.choice(WORKSPACES)}
        return self.root.post(AGENTS.url(source, "clone"), body).status

    def like(self) -> object:
        user = User.objects.get(pk=self.random.choice(self.users()))
        kind, names = self.random.choice((("agent", IDS), ("promptBlock", BLOCKS)))
        marked = {"user": user, "kind": kind, "resource_id": self.random.choice(names)}
        if self.random.random() < 0.5:
            return Favorite.objects.filter(**marked).delete()
        return Favorite.objects.get_or_create(**marked)

    def users(self) -> list[int]:
        return list(User.objects.exclude(username__startswith="root").values_list("pk", flat=True))

    def role(self) -> object:
        user, workspace = self.random.choice(self.users()), self.random.choice(WORKSPACES)
        role = self.random.choice(("viewer", "editor", "publisher", "admin"))
        if self.random.random() < 0.5:
            return Membership.objects.filter(user=user, workspace=workspace).update(role=role)
        return Membership.objects.update_or_create(
            user_id=user, workspace_id=workspace, defaults={"role": role}
        )

    def leave(self) -> object:
        user = self.random.choice(self.users())
        return Membership.objects.filter(user=user, workspace=self.random.choice(WORKSPACES)).delete()

    def key(self) -> Any:
        return ApiKey.objects.filter(pk__in=self.random.sample(self.all_keys(), 1))

    def all_keys(self) -> list[int]:
        return list(ApiKey.objects.exclude(owner__username="root").values_list("pk", flat=True))

    def limit(self) -> object:
        role, workspace = (
            self.random.choice((None, "viewer", "editor")),
            self.random.choice((None, *WORKSPACES)),
        )
        return self.key().update(role=role, workspace=workspace)

    def revoke(self) -> object:
        gone = self.random.choice((None, None, timezone.now()))
        return self.key().update(**{self.random.choice(("revoked_at", "expires_at")): gone})

    def switch(self) -> object:
        on = self.random.random() < 0.8
        return User.objects.filter(pk=self.random.choice(self.users())).update(is_active=on)

    def revive(self) -> object:
        ApiKey.objects.update(revoked_at=None, expires_at=None)
        return User.objects.update(is_active=True)

    def rename(self) -> object:
        user = User.objects.filter(pk=self.random.choice(self.users()))
        return user.update(username=f"someone {self.random.random()}")

    def superuser(self) -> object:
        user = User.objects.filter(pk=self.random.choice(self.users()))
        return user.update(is_superuser=self.rarely())

    def in_bulk(self) -> object:
        for model in (Agent, PromptBlock):
            model.objects.update(metadata={"n": self.random.randrange(3)})
        return None


def questions() -> list[tuple[str, dict[str, Any]]]:
    asked: list[tuple[str, dict[str, Any]]] = [
        ("/agents", {}),
        ("/agents/one", {"requestContext": ""}),
        ("/stored/agents", {"favoritedOnly": "true"}),
        ("/stored/prompt-blocks", {"favoritedOnly": "true"}),
        ("/stored/agents", {"perPage": 1, "page": 1}),
        ("/stored/agents", {"metadata": '{"n":1}'}),
        ("/stored/agents", {"search": "text"}),
        ("/stored/agents", {"visibility": "public"}),
    ]
    for kind, names in ((AGENTS, IDS), (PROMPT_BLOCKS, BLOCKS)):
        asked += [(kind.path, {}), (kind.path, {"status": "published"}), (kind.path, {"workspaceId": "acme"})]
        for name in names:
            url = kind.url(name)
            asked += [
                (url, {}),
                (url, {"status": "draft"}),
                (url, {"status": "published"}),
                (url, {"label": LABEL}),
            ]
            asked += [(url + "/versions", {}), (url + "/dependents", {}), (url + "/labels", {})]
    for name in IDS:
        url = AGENTS.url(name).removeprefix("/stored")
        asked += [(url, {}), (url, {"status": "draft"}), (url, {"label": LABEL}), (url, {"status": "latest"})]
    return asked


def seen(answer: Answer) -> tuple[int, Any, dict[str, str]]:
    headers = {name: value for name, value in answer.headers.items() if name != "X-Request-ID"}
    return answer.status, answer.body, headers


@pytest.mark.parametrize("seed", SEEDS)
def test_a_cached_answer_equals_a_newly_computed_one_after_random_changes(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    chaos = Chaos(cast, seed)
    doors: list[type[Api]] = [Api, FrontDoor]
    viewers = [door(getattr(cast, name).key) for name in (*PEOPLE, "root") for door in doors]
    limited = [
        key_of("alice", workspace="acme"),
        key_of("alice", role="viewer"),
        key_of("root", role="viewer"),
    ]
    viewers += [*limited, key_of("vera"), Api("ek_" + "x" * 40)]
    asked, trail = questions(), list[str]()
    tags, statuses = set[str](), set[int]()
    for kind, names in ((PROMPT_BLOCKS, BLOCKS), (AGENTS, IDS)):
        for name in names:
            kind.make(cast.root, name, workspaceId="acme", autoPublish=True)
    for _ in range(STEPS):
        trail.append(chaos.step())
        for _ in range(QUESTIONS):
            viewer, (path, query) = chaos.random.choice(viewers), chaos.random.choice(asked)
            again = bool(tags) and chaos.rarely()
            headers = {"if_none_match": chaos.random.choice(sorted(tags))} if again else {}
            answers = [seen(viewer.request("GET", path, query=query, **headers)) for _ in range(2)]
            with monkeypatch.context() as patched:
                patched.setattr(cached_answers, "is_caching", lambda: False)
                patched.setattr(keys, "_keys", BoundedCache(0))
                expected = seen(viewer.request("GET", path, query=query, **headers))
            statuses.add(expected[0])
            assert answers == [expected] * 2, (path, query, trail)
            if "ETag" in expected[2]:
                tags.add(expected[2]["ETag"])
    assert statuses >= {200, 403, 404}
