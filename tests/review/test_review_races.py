"""Concurrent actions on a review, on a server: each as if one came after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.support.api import AGENTS, PROMPT_BLOCKS, Answer, Kind
from tests.support.held_writer import held
from tests.support.remote import RemoteApi, at_once, connected
from tests.support.reviews import REVIEWS, approve, ask, listed, path, read, reference, say
from tests.support.service import Service

pytestmark = pytest.mark.postgresql

HOME = "raced"
ROLES = {"ann": "admin", "ed": "editor", "pat": "publisher", "pia": "publisher", "rita": "publisher"}
TURNS = 4
SUBJECTS = [(kind, turn) for kind in (AGENTS, PROMPT_BLOCKS) for turn in range(TURNS)]
DEMOTE = """
from django.contrib.auth.models import User
from versioning.domain.access import Role
from versioning.models import Membership, Workspace
Membership.objects.grant(User.objects.get(username="{name}"), Workspace.objects.get(id="{home}"), Role.EDITOR)
"""

Job = Callable[[RemoteApi], Answer]
_names = count()


class Home:
    """A workspace that requires an approval, and its people."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.keys = {
            name: service.manage("create_api_key", name, "--workspace", HOME, "--role", role).strip()
            for name, role in ROLES.items()
        }
        with connected(service, self.keys["ann"]) as ann:
            assert ann.put(f"/workspaces/{HOME}/review-policy", {"required": 1}).status == 200

    def as_(self, name: str, act: Callable[[RemoteApi], Answer]) -> Job:
        """Return an action that a person performs on any connection."""

        def job(api: RemoteApi) -> Answer:
            api.key = self.keys[name]
            return act(api)

        return job


@pytest.fixture(scope="session")  # as long as the service: a process can come back to this module
def home(live_service: Service) -> Home:
    """The workspace, made once."""
    return Home(live_service)


class Round:
    """Resources of both kinds, all with a review of a draft by ed, as the subjects of concurrent actions."""

    def __init__(self, home: Home, ed: RemoteApi, *, asked: bool = True) -> None:
        self.home = home
        self.ids = {(kind, turn): f"raced-{next(_names)}" for kind, turn in SUBJECTS}
        for (kind, _), resource_id in self.ids.items():
            kind.make(ed, resource_id)
        self.reviews = {
            subject: ask(ed, subject[0], resource_id) for subject, resource_id in self.ids.items() if asked
        }

    def both(
        self, first: tuple[str, Callable[..., Answer]], second: tuple[str, Callable[..., Answer]]
    ) -> dict[Any, tuple[Answer, Answer]]:
        """Let two people act on everything at once, and return their answers."""

        def act(who: tuple[str, Callable[..., Answer]], subject: Any) -> Job:
            review, resource_id = self.reviews.get(subject), self.ids[subject]
            return self.home.as_(who[0], lambda api: who[1](api, subject[0], resource_id, review))

        jobs = [act(who, subject) for subject in SUBJECTS for who in (first, second)]
        answers = at_once(self.home.service, jobs)
        return {subject: (answers[2 * at], answers[2 * at + 1]) for at, subject in enumerate(SUBJECTS)}

    def types(self, api: RemoteApi, subject: tuple[Kind, int], *wanted: str) -> list[str]:
        """Return the types of the events about a resource, in the order of their commits."""
        found = api.get("/events", limit=1000, **reference(subject[0], self.ids[subject])).body["events"]
        types = [event["type"].rpartition(".")[2] for event in found]
        return [one for one in types if one in wanted]


@pytest.fixture
def ed(home: Home) -> Any:
    """The editor, who saves and requests reviews."""
    with connected(home.service, home.keys["ed"]) as connection:
        yield connection


@pytest.fixture
def pat(home: Home) -> Any:
    """A publisher, who checks the results."""
    with connected(home.service, home.keys["pat"]) as connection:
        yield connection


def asks(api: RemoteApi, kind: Kind, resource_id: str, review: Any) -> Answer:
    return api.post(REVIEWS, {"resource": reference(kind, resource_id)})


def approves(api: RemoteApi, kind: Kind, resource_id: str, review: Any) -> Answer:
    return say(api, review, "approve")


def withdraws(api: RemoteApi, kind: Kind, resource_id: str, review: Any) -> Answer:
    return say(api, review, "withdraw")


def publishes(api: RemoteApi, kind: Kind, resource_id: str, review: Any) -> Answer:
    return api.post(kind.url(resource_id, "versions", review["versionId"], "activate"))


def closes(api: RemoteApi, kind: Kind, resource_id: str, review: Any) -> Answer:
    return api.patch(path(review), {"state": "closed"})


def deletes(api: RemoteApi, kind: Kind, resource_id: str, review: Any) -> Answer:
    return api.delete(kind.url(resource_id))


def outcome(answer: Answer) -> Any:
    return answer.status if answer.status < 400 else answer.code


def outcomes(answers: Sequence[Answer]) -> tuple[Any, ...]:
    return tuple(map(outcome, answers))


def test_one_of_two_concurrent_requests_for_a_review_succeeds(home: Home, ed: RemoteApi) -> None:
    answers = Round(home, ed, asked=False).both(("ed", asks), ("pat", asks))
    assert {Counter(map(outcome, both)) == {201: 1, "review_open": 1} for both in answers.values()} == {True}


def test_both_concurrent_last_approvals_count(home: Home, ed: RemoteApi) -> None:
    raced = Round(home, ed)
    answers = raced.both(("pia", approves), ("rita", approves))
    assert {outcomes(both) for both in answers.values()} == {(200, 200)}
    for review in raced.reviews.values():
        found = read(ed, review)
        assert sorted(one["by"] for one in found["verdicts"] if one["counts"]) == ["pia", "rita"]


def test_a_withdrawal_and_a_publish_do_not_both_succeed(home: Home, ed: RemoteApi, pat: RemoteApi) -> None:
    raced = Round(home, ed)
    for review in raced.reviews.values():
        approve(pat, review)
    answers = raced.both(("pat", withdraws), ("rita", publishes))
    for subject, both in answers.items():
        assert outcomes(both) in {(200, "review_required"), ("review_closed", 200)}
        state = read(ed, raced.reviews[subject])["state"]
        assert state == ("open" if both[0].status == 200 else "published")


def test_a_concurrent_publication_needs_the_approval_before_it(
    home: Home, ed: RemoteApi, pat: RemoteApi
) -> None:
    raced = Round(home, ed)
    answers = raced.both(("pat", approves), ("rita", publishes))
    for subject, both in answers.items():
        assert outcomes(both) in {(200, "review_required"), (200, 200)}
        expected = ["approved", "published"] if both[1].status == 200 else ["approved"]
        assert raced.types(pat, subject, "approved", "published") == expected


def test_no_verdict_is_accepted_after_a_concurrent_end(home: Home, ed: RemoteApi, pat: RemoteApi) -> None:
    raced = Round(home, ed)
    answers = raced.both(("pat", approves), ("ed", closes))
    for subject, both in answers.items():
        assert outcomes(both) in {(200, 200), ("review_closed", 200)}
        expected = ["approved", "closed"] if both[0].status == 200 else ["closed"]
        assert raced.types(pat, subject, "approved", "closed") == expected


def test_no_review_of_a_concurrently_deleted_resource_remains(home: Home, ed: RemoteApi) -> None:
    raced = Round(home, ed, asked=False)
    answers = raced.both(("ed", asks), ("pat", deletes))
    assert {outcomes(both) for both in answers.values()} <= {(201, 200), ("not_found", 200)}
    assert not set(raced.ids.values()) & {
        one["resource"]["id"] for one in ed.get(REVIEWS, perPage=1000).body["reviews"]
    }


def test_a_verdict_is_refused_if_the_role_is_lost_before_the_commit(
    home: Home, ed: RemoteApi, tmp_path: Path
) -> None:
    name = "hal"
    key = home.service.manage("create_api_key", name, "--workspace", HOME, "--role", "publisher").strip()
    AGENTS.make(ed, name)
    review = ask(ed, AGENTS, name)
    demote = DEMOTE.format(name=name, home=HOME)
    answer = held(
        home.service,
        tmp_path,
        "approve",
        by=(name, key),
        change=lambda: home.service.manage("shell", "--no-imports", "-c", demote),
    )
    assert answer == {"status": 403, "code": "forbidden"}
    assert read(ed, review)["verdicts"] == []
    assert listed(ed, id=name, state="open") == [review["id"]]
