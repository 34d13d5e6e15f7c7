"""Overrides of code-defined agents over REST: who may make them, their fields, and their effect."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.api import AGENTS, Answer, Api
from tests.support.calls import undone
from tests.support.code import TOOLS
from tests.support.people import give_role, key_of, person
from tests.support.runs import noticed, ran
from tests.support.served import served
from versioning.domain.access import Role
from versioning.testing import WorkspaceFactory

URL = AGENTS.url("answers")
ANEW = {"look_up": {"description": "Described anew."}}
MORE = {"clock": {"description": "Tell the time."}}
FULL: dict[str, Any] = {
    "instructions": "override",
    "tools": {**ANEW, **MORE},
    "integrationTools": {"github": {}},
    "mcpClients": {"files": {"url": "https://example.com"}},
}
NOT_APPLIED = {
    "name": "Renamed",
    "description": "Described.",
    "model": {"provider": "openai", "name": "large"},
    "agents": {"nobody": {}},
    "memory": {"lastMessages": 3},
    "defaultOptions": {"maxSteps": 9},
}

Limit = Callable[[str], None]


@pytest.fixture(autouse=True)
def limit(settings: Any) -> Limit:
    """Change what the code of `answers` lets an override change; at first that is everything."""

    def change(framework: str) -> None:
        settings.EDITOR_FRAMEWORK = f"tests.support.code.{framework}"

    change("framework")
    return change


@pytest.fixture
def admin(db: None) -> Api:
    """An admin of the workspace of the code."""
    person("ada", default=Role.ADMIN)
    return key_of("ada")


def post(api: Api, **body: Any) -> Answer:
    return api.post(AGENTS.path, {"id": "answers", **body})


def make(api: Api, **body: Any) -> dict[str, Any]:
    answer = post(api, **body)
    assert answer.status == 201, answer.body
    assert answer.headers["Location"] == f"/api{URL}"
    return dict(answer.body)


def exported(api: Api, body: Any = None) -> dict[str, Any]:
    answer = api.post(f"{URL}/export", body)
    assert answer.status == 200, answer.body
    return dict(answer.body["config"])


# Making one


def test_the_first_save_of_an_override_is_a_draft_even_for_admins(admin: Api) -> None:
    record = make(admin, instructions="override")
    assert (record["status"], record["activeVersionId"], record["hasDraft"]) == ("draft", None, True)
    owned = [record[name] for name in ("workspaceId", "visibility", "authorId", "warnings")]
    assert owned == ["default", "public", "ada", []]
    assert served(admin, "answers")["instructions"] == "code"
    assert served(admin, "answers", status="draft")["instructions"] == "override"
    assert (post(admin, instructions="second").status, len(AGENTS.versions(admin, "answers"))) == (409, 1)


def test_an_override_can_only_be_made_in_the_workspace_of_the_code(admin: Api) -> None:
    WorkspaceFactory(id="acme")
    person("alice", acme=Role.ADMIN)
    give_role("ada", "acme", Role.ADMIN)
    answers = [
        post(key_of("alice"), instructions="override", **workspace)
        for workspace in ({}, {"workspaceId": "acme"}, {"workspaceId": "default"})
    ]
    answers.append(post(admin, instructions="override", workspaceId="acme"))
    assert [(answer.status, answer.code) for answer in answers] == [(403, "forbidden")] * 4
    assert AGENTS.versions(admin, "answers") == []
    assert make(admin, instructions="override", workspaceId="default")["workspaceId"] == "default"


def test_members_make_an_override_as_their_role_allows(admin: Api) -> None:
    for role, save, publish in ((Role.VIEWER, 403, 403), (Role.EDITOR, 201, 403), (Role.PUBLISHER, 201, 201)):
        person(role, default=role)
        for more, status in (({"autoPublish": True}, publish), ({}, save)):
            with undone():
                assert post(key_of(role), instructions="override", **more).status == status
                assert len(AGENTS.versions(admin, "answers")) == (status == 201)


# The fields of an override


def test_an_override_requires_nothing(admin: Api) -> None:
    record = make(admin, autoPublish=True)
    version_id = record["activeVersionId"]
    assert (record["status"], version_id) == ("published", record["resolvedVersionId"])
    agent = served(admin, "answers")
    assert (agent["name"], agent["instructions"], agent["tools"]) == ("Answers", "code", TOOLS)
    assert agent["resolvedVersionId"] == version_id
    assert admin.get(URL).status == admin.get(AGENTS.path).status == 200


def test_instructions_that_are_sent_are_not_blank(admin: Api) -> None:
    refused = [post(admin, instructions=blank) for blank in ("", " \n\t", [])]
    make(admin, tools=ANEW)
    refused += [admin.patch(URL, {"instructions": blank}) for blank in ("", " \n\t", [])]
    assert [(answer.status, answer.fields) for answer in refused] == [(400, ["instructions"])] * 6


def test_clearing_a_field_restores_the_value_of_the_code(admin: Api) -> None:
    make(admin, instructions="override", tools=ANEW, autoPublish=True)
    assert admin.patch(URL, {"instructions": None, "autoPublish": True}).status == 200
    agent = served(admin, "answers")
    assert (agent["instructions"], agent["tools"]) == ("code", ANEW)


def test_fields_that_are_never_applied_are_stored_with_a_warning(admin: Api) -> None:
    record = make(admin, instructions="override", **NOT_APPLIED, autoPublish=True)
    version = admin.get(f"{URL}/versions/{record['activeVersionId']}").body
    assert {field: record[field] for field in NOT_APPLIED} == NOT_APPLIED
    assert {field: version[field] for field in NOT_APPLIED} == NOT_APPLIED
    assert sorted(noticed(record)) == sorted(("not_applied", field) for field in NOT_APPLIED)
    agent = served(admin, "answers")
    assert (agent["name"], agent["description"]) == ("Answers", "Answers questions.")
    assert (agent["provider"], agent["modelId"], agent["agents"]) == ("echo", "echo", {})
    assert agent["defaultOptions"] == {"maxSteps": 4}
    assert exported(admin) == {"instructions": "override"}
    assert admin.delete(URL).status == 200
    make(admin, instructions="override")
    saved = admin.patch(URL, {"name": "Renamed"}).body
    assert noticed(saved) == [("not_applied", "name")]
    published = admin.post(f"{URL}/versions/{saved['latestVersionId']}/activate").body
    assert noticed(published) == [("not_applied", "name")]


def test_stored_tools_override_those_of_the_code(admin: Api) -> None:
    make(admin, autoPublish=True)
    both: dict[str, Any] = {**TOOLS, **MORE}
    for tools, offered in ((ANEW, ANEW), (MORE, both), ({"look_up": {}}, TOOLS), ([{"value": MORE}], both)):
        assert admin.patch(URL, {"tools": tools, "autoPublish": True}).status == 200
        assert served(admin, "answers")["tools"] == offered


# Ownership of fields: what the code lets an override change → what is applied of the full override.

OWNERSHIPS: dict[str, dict[str, Any]] = {
    "framework": FULL,
    "nothing": {},
    "wording": {"instructions": "override"},
    "tooling": {field: value for field, value in FULL.items() if field != "instructions"},
    "descriptions": {"tools": ANEW},
}


@pytest.mark.parametrize("ownership", OWNERSHIPS)
def test_a_field_that_the_code_withholds_is_refused(admin: Api, limit: Limit, ownership: str) -> None:
    limit(ownership)
    taken = {field: value for field, value in FULL.items() if OWNERSHIPS[ownership].get(field) == value}
    withheld = sorted(FULL.keys() - taken)
    if withheld:
        refused = post(admin, **FULL)
        assert (refused.status, refused.code, refused.fields) == (400, "owned_by_code", withheld)
        assert AGENTS.versions(admin, "answers") == []
    make(admin, **taken)
    for field, value in FULL.items():
        answer = admin.patch(URL, {field: value})
        assert answer.status == (400 if field in withheld else 200), answer.body
        if field in withheld:
            assert (answer.code, answer.fields) == ("owned_by_code", [field])


def test_with_ownership_of_descriptions_tools_can_be_described_but_not_added(
    admin: Api, limit: Limit
) -> None:
    limit("descriptions")
    for tools, status in ((MORE, 400), ({**ANEW, **MORE}, 400), (TOOLS, 201)):
        assert post(admin, tools=tools).status == status
    assert admin.patch(URL, {"tools": ANEW}).status == 200


def test_a_field_equal_to_the_code_is_accepted_even_if_the_code_owns_it(admin: Api, limit: Limit) -> None:
    limit("nothing")
    make(admin, instructions="code", tools=TOOLS)
    assert admin.patch(URL, {"instructions": "code"}).status == 200
    assert admin.patch(URL, {"instructions": "code "}).code == "owned_by_code"


@pytest.mark.parametrize("ownership", OWNERSHIPS)
def test_an_older_override_is_reduced_to_the_fields_that_the_code_now_allows(
    admin: Api, limit: Limit, ownership: str
) -> None:
    make(admin, **FULL, **NOT_APPLIED, autoPublish=True)
    limit(ownership)
    counts = OWNERSHIPS[ownership]
    instructions = counts.get("instructions", "code")
    agent = served(admin, "answers")
    assert agent["instructions"] == instructions
    assert agent["tools"] == {**TOOLS, **counts.get("tools", {})}
    assert ran(admin, "answers")["text"] == f"{instructions}\n\nhello"
    assert exported(admin) == counts
    assert exported(admin, {**FULL, **NOT_APPLIED, "unheard": 1}) == counts


def test_an_older_override_can_still_be_edited_and_published(admin: Api, limit: Limit) -> None:
    first = make(admin, **FULL)["latestVersionId"]
    limit("wording")
    saved = admin.patch(URL, {"instructions": "edited", "autoPublish": True})
    assert (saved.status, saved.body["tools"]) == (200, FULL["tools"])
    assert admin.post(f"{URL}/versions/{first}/restore").status == 201
    agent = served(admin, "answers", status="draft")
    assert (agent["instructions"], agent["tools"]) == ("override", TOOLS)


# Exporting


def test_there_is_nothing_to_export_without_an_override(admin: Api) -> None:
    for query in ({}, {"status": "draft"}):
        answer = admin.request("POST", f"{URL}/export", query=query)
        assert (answer.status, answer.code) == (404, "no_override")
    make(admin, instructions="override")
    assert admin.post(f"{URL}/export").code == "no_override"  # a draft is not served
    answer = admin.request("POST", f"{URL}/export", query={"status": "draft"})
    assert (answer.body["agentId"], answer.body["fileName"]) == ("answers", "agents/answers.json")
    assert answer.body["content"] == '{\n  "instructions": "override"\n}\n'


# Its life


def test_an_override_has_the_lifecycle_of_any_agent(admin: Api) -> None:
    first = make(admin, instructions="first", autoPublish=True)["activeVersionId"]
    second = AGENTS.save(admin, "answers", "second")["latestVersionId"]
    assert served(admin, "answers")["instructions"] == "first"
    AGENTS.publish(admin, "answers", second)
    assert served(admin, "answers")["instructions"] == "second"

    restored = admin.post(f"{URL}/versions/{first}/restore")
    assert (restored.status, restored.body["instructions"], restored.body["state"]) == (201, "first", "draft")
    assert served(admin, "answers")["resolvedVersionId"] == second
    states = [(version["versionNumber"], version["state"]) for version in AGENTS.versions(admin, "answers")]
    assert states == [(3, "draft"), (2, "published"), (1, "historical")]

    unpublished = admin.post(f"{URL}/unpublish")
    assert (unpublished.status, unpublished.body["status"]) == (200, "draft")
    agent = served(admin, "answers")
    assert (agent["instructions"], agent["resolvedVersionId"], agent["fallback"]) == ("code", None, None)

    assert admin.delete(URL).status == 200
    assert (admin.get(URL).status, AGENTS.versions(admin, "answers")) == (404, [])
    assert served(admin, "answers", status="draft")["instructions"] == "code"
    assert make(admin, instructions="again")["latestVersionId"] not in {first, second}
    assert [version["versionNumber"] for version in AGENTS.versions(admin, "answers")] == [1]
