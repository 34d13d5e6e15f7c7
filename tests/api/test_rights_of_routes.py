"""Who may call which route: one table for all routes, and how all other callers are refused.

The effect of a route on versions in each state is in test_roles, what it must not show in test_leaks; the
whole table of roles and rights is in tests/domain/test_access.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.db import transaction

from tests.conftest import Cast
from tests.support.api import Answer, Api, Kind
from tests.support.honest_requests import (
    BESIDES_RESOURCES,
    UNUSED_DATASET,
    existing,
    honest,
    make_one_of_everything,
)
from tests.support.openapi import (
    BEGINNING,
    CREATING,
    DATASETS,
    EXPERIMENTS,
    NEVER_SUCCEEDING,
    ROUTES,
    of_each_kind,
    operations,
)
from tests.support.people import key_of, person
from tests.support.unchanged import is_refusal
from versioning.api.openapi import document as openapi
from versioning.domain.access import Action
from versioning.models import Event

MEMBERS = ["vera", "edgar", "paula", "alice"]
"""A viewer, an editor, a publisher and an admin of acme, where everything is."""

LISTS = [
    *of_each_kind(["GET /stored/{kind}"]),
    *["GET /agents", "GET /providers", "GET /events", "GET /webhooks", "GET /schedules", "GET /releases"],
    *["GET /reviews", "GET /comments", "GET /rollouts", "GET /workspaces", "GET /datasets"],
    *["GET /keys", "GET /service-accounts", "GET /experiments", "GET /experiments/review-summary"],
    "GET /gates",
    *["GET /labels", "GET /scores/run/{}", "GET /scores/scorer/{}", "GET /scores/entity/{}/{}"],
    "GET /scores/scorers",
]
"""Every caller gets a page, with what the caller may read."""

# All routes but those of `calm` and `shared` concern unpublished resources, which a viewer may not read.
WEAKEST = {
    "vera": [
        *[*LISTS, "POST /stored/agents/preview-instructions", "GET /workspaces/{}/review-policy"],
        *["GET /rollouts/{}", "POST /usage", "POST /feedback", "GET /me", "POST /keys"],
        *["GET /workspaces/{}", "GET /workspaces/{}/members"],
    ],
    "edgar": [
        *of_each_kind(
            [
                "POST /stored/{kind}",
                "GET /stored/{kind}/{}",
                "PATCH /stored/{kind}/{}",
                "GET /stored/{kind}/{}/dependents",
                "POST /stored/{kind}/{}/export",
                "POST /stored/{kind}/{}/clone",
                "GET /stored/{kind}/{}/versions",
                "POST /stored/{kind}/{}/versions",
                "GET /stored/{kind}/{}/versions/{}",
                "GET /stored/{kind}/{}/versions/compare",
                "POST /stored/{kind}/{}/versions/{}/restore",
                "GET /stored/{kind}/{}/labels",
                "PUT /stored/{kind}/{}/favorite",
                "DELETE /stored/{kind}/{}/favorite",
            ]
        ),
        *[
            "POST /stored/scorers/{}/try",
            *(one for one in DATASETS if one not in {"GET /datasets", *NEVER_SUCCEEDING}),
        ],
        *(one for one in EXPERIMENTS if one not in LISTS),
        *["GET /gates/{}", "GET /gates/check", "POST /gates/run"],
        *[
            "GET /agents/{}",
            "GET /agents/{}/parts",
            "POST /agents/{}/generate",
            "POST /locks",
            "GET /schedules/{}",
        ],
        *["POST /releases", "GET /releases/{}", "PATCH /releases/{}", "DELETE /releases/{}"],
        *["GET /releases/{}/check", "POST /releases/{}/revert"],
        *["GET /usage", "GET /feedback", "GET /feedback/summary"],
        *["POST /reviews", "GET /reviews/{}", "PATCH /reviews/{}", "POST /comments", "GET /comments/{}"],
    ],
    "paula": [
        *of_each_kind(
            [
                "DELETE /stored/{kind}/{}",
                "POST /stored/{kind}/{}/unpublish",
                "POST /stored/{kind}/{}/versions/{}/activate",
                "DELETE /stored/{kind}/{}/versions/{}",
                "PUT /stored/{kind}/{}/labels/{}",
                "DELETE /stored/{kind}/{}/labels/{}",
            ]
        ),
        *["POST /schedules", "PATCH /schedules/{}", "DELETE /schedules/{}"],
        *["POST /releases/{}/publish", "POST /reviews/{}/verdicts"],
        *["POST /rollouts", "PATCH /rollouts/{}", "POST /rollouts/{}/stop", "POST /rollouts/{}/complete"],
        *["POST /gates", "PATCH /gates/{}", "DELETE /gates/{}"],
    ],
    "alice": [
        *["PUT /workspaces/{}/review-policy", "POST /webhooks", "GET /webhooks/{}", "PATCH /webhooks/{}"],
        *["DELETE /webhooks/{}", "POST /webhooks/{}/rotate", "POST /webhooks/{}/ping"],
        *["GET /webhooks/{}/deliveries", "POST /webhooks/{}/deliveries/{}/replay"],
        *["PATCH /workspaces/{}", "PUT /workspaces/{}/members/{}", "DELETE /workspaces/{}/members/{}"],
        *["GET /workspaces/{}/invitations", "POST /workspaces/{}/invitations"],
        *["DELETE /workspaces/{}/invitations/{}", "DELETE /keys/{}"],
        *["POST /service-accounts", "DELETE /service-accounts/{}"],
        *["PATCH /comments/{}", "DELETE /comments/{}"],  # she wrote it, and only the author may edit it
    ],
}
ROWS = [(route, who) for who, routes in WEAKEST.items() for route in routes]
COLLECTIONS = sorted({route.partition("/")[2].partition("/{}")[0] for route, _ in ROWS})
"""How the paths begin: one test tries all routes of a collection, since a test costs more than a request."""
NOT_HERE = {"POST /agents/{}/stream", "GET /events/stream", *NEVER_SUCCEEDING}
"""Streams need a connection of their own (test_leaks_in_streams)."""
NOT_HERE |= {"POST /workspaces", "DELETE /workspaces/{}", "POST /people/{}/erase"}
"""These are for superusers (tests/accounts/test_workspaces_over_rest, test_erasing)."""
NO_PLACE = {*of_each_kind(["POST /stored/{kind}"]), "POST /stored/agents/preview-instructions"}
NO_PLACE |= {"GET /me", "POST /datasets", "POST /scores"}
"""Where a stranger does the same, in his own workspace."""
ELSEWHERE = {"writer": "missing", "calm": "none", "shared": "absent", "acme": "nowhere"}


@dataclass(frozen=True)
class World:
    """The versions of `writer`, and the requests about it and everything else, as far as they were made."""

    ids: dict[Kind, list[str]]
    requests: dict[str, str] = field(default_factory=dict)
    described: dict[str, Any] = field(default_factory=lambda: operations(openapi()))
    """The operations of the OpenAPI document by route."""


KINDS = ("stored/agents", "stored/prompt-blocks", "stored/scorers")
SHARED = sorted(route for route, _ in ROWS if KINDS[1] in route)
"""The routes that all kinds have, as those of prompt blocks."""

ScopedKeys = dict[tuple[str, Action], str]


@pytest.fixture(scope="module")
def versions(stored_once: Callable[[], AbstractContextManager[None]], shared_keys: dict[str, str]) -> World:
    """The versions of `writer`, along with one object of every other type."""
    with stored_once():
        person("wanda", elsewhere="viewer", acme="admin")
        return World(make_one_of_everything(shared_keys))


@pytest.fixture
def cast(shared_cast: Cast) -> Cast:
    """The cast, which is the same in every test of this module."""
    return shared_cast


@pytest.fixture(autouse=True)
def internal_receivers(settings: Any) -> None:
    """Let webhooks be sent to this machine: the names of other hosts cannot be resolved here."""
    settings.EDITOR_WEBHOOK_ALLOW = ["127.0.0.1"]


def ask(api: Api, route: str, versions: World, *, missing: bool = False) -> Answer:
    """Send the request and undo its effect; a refused request must have had none, and be documented."""
    method, _, path = route.partition(" ")
    sent = request_of(route, versions)
    for there, elsewhere in renamed(versions).items() if missing else ():
        sent = sent.replace(f'"{there}"', f'"{elsewhere}"')
    parts, request = json.loads(sent)
    with transaction.atomic():
        before = Event.objects.count()
        answer = api.request(method, path.format(*parts), request.get("body"), query=request["query"])
        assert answer.status < 400 or Event.objects.count() == before
        assert str(answer.status) in versions.described[route]["responses"], (route, answer.status)
        transaction.set_rollback(True)
    return answer


def request_of(route: str, versions: World) -> str:
    """Return the parts of the path and an honest request, as JSON; all tests of this module ask alike."""
    if route not in versions.requests:
        sent = [list(existing(route, versions.ids).values()), honest(route, versions.ids)]
        versions.requests[route] = json.dumps(sent)
    return versions.requests[route]


def renamed(versions: World) -> dict[str, str]:
    """Return the substitute for each name in a request for missing objects; all have the original length."""
    ids = [
        *BESIDES_RESOURCES.values(),
        UNUSED_DATASET,
        *(one for ids in versions.ids.values() for one in ids),
    ]
    return {one: one[:-2] + "99" for one in ids} | ELSEWHERE


def rows_of(collection: str) -> list[tuple[str, str]]:
    """Return the routes of a collection, each with the weakest caller who has the right."""
    return [row for row in ROWS if row[0].partition("/")[2].partition("/{}")[0] == collection]


def rows_in_turn(collection: str) -> list[tuple[str, str]]:
    """Return them; of the routes that the kinds share, each is tried with one kind."""
    rows = rows_of(collection)
    if collection not in KINDS:
        return rows
    turn, each = KINDS.index(collection), len(KINDS)
    others = {one.replace(KINDS[1], collection) for n, one in enumerate(SHARED) if n % each != turn}
    return [row for row in rows if row[0] not in others]


def weaker_than(weakest: str) -> list[str]:
    """Return who is refused, if anybody: the next weaker one. A role has all rights of those below it."""
    return MEMBERS[: MEMBERS.index(weakest)][-1:]


def is_withheld(answer: Answer) -> bool:
    return (answer.status, answer.code) in {(403, "forbidden"), (404, "not_found")}


@pytest.mark.parametrize("collection", COLLECTIONS)
def test_non_members_get_the_same_404_for_existing_and_missing_objects(
    cast: Cast, versions: World, collection: str
) -> None:
    strangers = (cast.charlie, key_of("wanda", workspace="elsewhere"))
    for route, _ in rows_in_turn(collection):
        assert is_refusal(ask(cast.nobody, route, versions, missing=True), 401, "unauthorized"), route
        answers = [ask(stranger, route, versions) for stranger in strangers]
        if route in LISTS:
            text = json.dumps([answer.body for answer in answers])
            assert not [one for one in (*renamed(versions), "reviewed") if f'"{one}"' in text], route
        elif route not in NO_PLACE:
            answers.append(ask(cast.charlie, route, versions, missing=True))
            assert {(answer.status, answer.code) for answer in answers} == {(404, "not_found")}, route
            assert answers[0].body == answers[1].body == answers[2].body, route


ACTIONS = [action for action in Action if action is not Action.DIRECTORY]
OF_ACTION = {
    Action.READ: "POST .*/(preview-instructions|export|locks|compare)$|.* /stored/.*/favorite$|GET .*",
    Action.RUN: "POST .*/(generate|stream|usage|feedback|try|experiments|resume|attempts|score|run)$",
    Action.PUBLISH: "POST .*/(activate|unpublish|publish)$|.*/labels/{}$|DELETE /stored/[^/]+/{}$|"
    ".* /(schedules|rollouts|gates)(/.*)?$",
    Action.ADMIN: ".* /(webhooks|workspaces|keys|service-accounts|people)(/.*)?$",
    Action.WRITE: ".*",
}
"""The operations of each action, in order: the first that matches counts, and GET comes before all."""


def needed_for(route: str) -> str | None:
    """Return the action that a key needs for a route, as the contract has it."""
    if route in {"GET /me", "GET /providers"}:
        return None
    return next(action.value for action, pattern in OF_ACTION.items() if re.match(pattern, route))


def wrong_action(route: str, number: int) -> Action:
    """Return an action that a key does not need for a route: of several routes, each in turn."""
    others = [action for action in ACTIONS if action.value != needed_for(route)]
    return others[number % len(others)]


@pytest.fixture(scope="module")
def scoped_keys(versions: World, stored_once: Callable[[], AbstractContextManager[None]]) -> ScopedKeys:
    """A key of each member for each action alone."""
    with stored_once():
        return {(who, action): key_of(who, actions=[action]).key for who in MEMBERS for action in ACTIONS}


@pytest.mark.parametrize("collection", COLLECTIONS)
def test_a_route_is_open_to_callers_with_the_right_and_keys_with_the_action_and_to_no_others(
    cast: Cast, versions: World, scoped_keys: ScopedKeys, collection: str
) -> None:
    """Without a key each is refused with 401: see above, and test_openapi_answers for what exists."""
    for number, (route, weakest) in enumerate(rows_of(collection)):
        expected = 201 if route in CREATING else 202 if route in BEGINNING else 200
        needed = needed_for(route)
        for who in weaker_than(weakest):
            scoped = scoped_keys[who, Action(needed)]  # the action alone gives no right
            assert is_withheld(ask(Api(scoped), route, versions)), (route, who)
        for action in (Action(needed or "read"), wrong_action(route, number)):
            answer = ask(Api(scoped_keys[weakest, action]), route, versions)
            if needed in {None, action}:
                assert answer.status == expected, (route, action, answer.body)
            else:
                assert is_refusal(answer, 403, "key_scope"), (route, action)
                assert answer.body["action"] == needed


def test_routes_that_are_tried_elsewhere_ask_for_their_action_too(
    cast: Cast, versions: World, scoped_keys: ScopedKeys
) -> None:
    for number, route in enumerate(sorted(NOT_HERE)):
        refused = ask(Api(scoped_keys["alice", wrong_action(route, number)]), route, versions)
        assert is_refusal(refused, 403, "key_scope"), route


WITHOUT_IDS = {
    *[
        "GET /me",
        "POST /keys",
        "POST /releases",
        "POST /stored/agents/preview-instructions",
    ],
    *["GET /workspaces/{}", "GET /workspaces/{}/members", "GET /workspaces/{}/invitations"],
    "GET /workspaces/{}/review-policy",
}
"""What a key that is limited to ids may do where everything has other ids."""


def test_for_a_key_that_is_limited_to_ids_everything_else_is_missing(cast: Cast, versions: World) -> None:
    limited, open_to_it = key_of("alice", workspace="acme", id_prefix="team/"), set()
    for route, _ in ROWS:
        answer = ask(limited, route, versions)
        if route in LISTS:
            text = json.dumps(answer.body)
            assert not [
                one for one in (*renamed(versions), "reviewed") if f'"{one}"' in text and one != "acme"
            ]
        elif answer.status < 400:
            open_to_it.add(route)
        else:
            assert (answer.status, answer.code) in {(403, "key_scope"), (404, "not_found")}, route
    assert open_to_it == WITHOUT_IDS


def test_the_document_says_which_action_each_route_needs(versions: World) -> None:
    assert {route: one.get("x-key-action") for route, one in versions.described.items()} == {
        route: needed_for(route) for route in ROUTES
    }


def test_every_route_is_in_the_table() -> None:
    assert sorted(route for route, _ in ROWS) == sorted(set(ROUTES) - NOT_HERE)
