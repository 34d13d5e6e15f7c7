"""Bodies that no honest client sends: each is refused with a clear answer, and changes nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any

import pytest
from pytest_django import Settings

from tests.support.api import Answer, Api, Kind
from tests.support.unchanged import everything_stored, is_refusal
from versioning.api.schemas import BodyTooLarge, ExactJSONParser

DEEPEST = 64
HOPELESS = 100_000


def nested_lists(levels: int) -> bytes:
    """Return an object whose deepest value is so many levels down, the object included."""
    return b'{"name": ' + b"[" * (levels - 1) + b"]" * (levels - 1) + b"}"


def nested_objects(levels: int) -> bytes:
    """Return the same with objects all the way down."""
    return b'{"name": ' * (levels - 1) + b"{}" + b"}" * (levels - 1)


NOT_A_DOCUMENT = {
    "a byte that is no UTF-8": b'{"name": "\xff"}',
    "UTF-16": '{"name": "x"}'.encode("utf-16"),
    "a byte order mark": b'\xef\xbb\xbf{"name": "x"}',
    "white space": b" \n ",
    "an open object": b'{"name": "x"',
    "an escaped NUL": b'{"name": "a\\u0000b"}',
    "half a pair": b'{"name": "\\ud83d"}',
    "NaN": b'{"name": NaN}',
    "1e999": b'{"name": 1e999}',
    "an integer of 5000 digits": b'{"name": ' + b"7" * 5000 + b"}",
    "a key twice": b'{"name": "x", "name": "y"}',
    "65 levels of lists": nested_lists(DEEPEST + 1),
    "65 levels of objects": nested_objects(DEEPEST + 1),
    "far too many lists": nested_lists(HOPELESS),
    "far too many objects": nested_objects(HOPELESS),
    "far too many open lists": b"[" * HOPELESS,
}
"""One of each sort; tests/domain/test_canonical.py has the others."""
NOT_AN_OBJECT = {
    "null": b"null",
    "a text": b'"name"',
    "an empty list": b"[]",
    "a list of objects": b'[{"name": "x"}]',
}

Send = Callable[[bytes], Answer]

ROUTES = {
    "create": ("POST", ""),
    "edit": ("PATCH", "/writer"),
    "delete": ("DELETE", "/writer"),
    "clone": ("POST", "/writer/clone"),
    "export": ("POST", "/writer/export"),
    "unpublish": ("POST", "/writer/unpublish"),
    "add a version": ("POST", "/writer/versions"),
    "activate": ("POST", "/writer/versions/{version}/activate"),
    "restore": ("POST", "/writer/versions/{version}/restore"),
    "delete a version": ("DELETE", "/writer/versions/{version}"),
    "set a label": ("PUT", "/writer/labels/stable"),
    "remove a label": ("DELETE", "/writer/labels/stable"),
}


@pytest.fixture
def draft(alice: Api, kind: Kind) -> str:
    """The draft of a published resource that has a label."""
    record = kind.make(alice, autoPublish=True)
    label = {"versionId": record["activeVersionId"]}
    assert alice.put(kind.url("writer", "labels", "stable"), label).status == 200
    return str(kind.save(alice)["latestVersionId"])


@pytest.fixture
def nothing_changes(draft: str) -> Iterator[None]:
    """Check that no test changes anything that is stored."""
    before = everything_stored()
    yield
    assert everything_stored() == before


@pytest.fixture
def senders(alice: Api, kind: Kind, draft: str) -> dict[str, Send]:
    """Send a body to each of the routes that take one."""

    def sender(method: str, path: str) -> Send:
        return lambda body: alice.request(method, path, body)

    return {
        name: sender(method, kind.path + below.format(version=draft))
        for name, (method, below) in ROUTES.items()
    }


def wrong_answers(answers: dict[str, Answer]) -> dict[str, Any]:
    """Return the answers that do not refuse the body as such."""
    return {
        name: (answer.status, answer.body)
        for name, answer in answers.items()
        if not is_refusal(answer, 400, "validation_failed") or answer.fields != ["body"]
    }


@pytest.mark.usefixtures("nothing_changes")
def test_a_body_that_is_not_strict_json_or_not_an_object_is_refused(
    alice: Api, senders: dict[str, Send]
) -> None:
    preview = "/stored/agents/preview-instructions"
    bodies = NOT_A_DOCUMENT | NOT_AN_OBJECT
    assert wrong_answers({name: senders["edit"](body) for name, body in bodies.items()}) == {}
    assert wrong_answers({name: alice.post(preview, body) for name, body in bodies.items()}) == {}


@pytest.mark.usefixtures("nothing_changes")
@pytest.mark.parametrize("body", [NOT_A_DOCUMENT["a key twice"], NOT_AN_OBJECT["null"]])
def test_every_route_refuses_such_bodies(senders: dict[str, Send], body: bytes) -> None:
    assert wrong_answers({name: send(body) for name, send in senders.items()}) == {}


OTHER_TYPES = [
    "text/plain",
    "text/html",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/xml",
    "application/jsonp",
    "application/x-ndjson",
    "application/octet-stream",
    "json",
    "application/json/more",
    "é",
    "",
]


@pytest.mark.usefixtures("nothing_changes")
def test_a_body_of_another_type_is_refused(alice: Api, kind: Kind, draft: str) -> None:
    body = json.dumps(kind.body(id="new", newId="new")).encode()
    answers = {
        content_type: alice.request("PATCH", kind.url("writer"), body, content_type=content_type)
        for content_type in OTHER_TYPES
    }
    for name, (method, below) in ROUTES.items():
        path = kind.path + below.format(version=draft)
        answers[name] = alice.request(method, path, body, content_type="text/plain")
    code = "unsupported_media_type"
    assert {name: a.status for name, a in answers.items() if not is_refusal(a, 415, code)} == {}


def test_every_spelling_of_the_json_media_type_is_accepted(alice: Api, kind: Kind) -> None:
    for number, content_type in enumerate(("application/json; charset=utf-8", "Application/JSON")):
        body = json.dumps(kind.body("été", id=f"new-{number}")).encode()
        answer = alice.request("POST", kind.path, body, content_type=content_type)
        assert (answer.status, answer.body[kind.text]) == (201, "été")


@pytest.mark.database
def test_64_levels_are_saved_and_read_again_everywhere(alice: Api, kind: Kind) -> None:
    nested: Any = {}
    for _ in range(DEEPEST - 2):
        nested = {"a": nested}
    body = kind.body(id="deep", requestContextSchema=nested, metadata=nested, autoPublish=True)
    first = alice.post(kind.path, body)
    assert (first.status, first.body["requestContextSchema"], first.body["metadata"]) == (201, nested, nested)

    second = kind.save(alice, "deep")["latestVersionId"]
    versions = kind.versions(alice, "deep")
    assert [version["requestContextSchema"] for version in versions] == [nested, nested]
    reads = [
        alice.get(kind.url("deep")),
        alice.get(kind.url("deep", "versions", second)),
        alice.get(kind.url("deep", "versions", "compare"), **{"from": versions[1]["id"], "to": second}),
        alice.get(kind.path),
        alice.post(kind.url("deep", "export")),
        alice.post(kind.url("deep", "clone"), {"newId": "copy"}),
        alice.post(kind.url("deep", "versions", versions[1]["id"], "restore")),
    ]
    assert [answer.status for answer in reads] == [200, 200, 200, 200, 200, 201, 201]


@pytest.mark.database
def test_numbers_are_returned_exactly_as_sent(alice: Api, kind: Kind) -> None:
    integers = [10**19, -(2**63) - 1, 10**100, 10**4000]
    fractions = [0.1, 1e308, 5e-324, 1e16, 123456789.123456789]
    kind.make(alice)
    for number in integers + fractions:
        kind.save(alice, requestContextSchema={"default": number})
        read = kind.versions(alice)[0]["requestContextSchema"]["default"]
        assert (read, type(read)) == (number, type(number))
    for number in integers:
        kind.save(alice, metadata={"n": number})
        assert alice.get(kind.url("writer"), status="draft").body["metadata"] == {"n": number}
        found = alice.get(kind.path, status="all", metadata=json.dumps({"n": number})).body
        assert [record["id"] for record in found[kind.list_key]] == ["writer"]


def test_the_parser_itself_limits_the_size_of_a_body(settings: Settings) -> None:
    settings.EDITOR_MAX_BODY = 6
    assert ExactJSONParser().parse(BytesIO(b'"four"')) == "four"
    with pytest.raises(BodyTooLarge):
        ExactJSONParser().parse(BytesIO(b'"fours"'))


def test_a_body_may_be_as_large_as_the_limit_and_no_larger(
    alice: Api, kind: Kind, settings: Settings
) -> None:
    body = json.dumps(kind.body("été " * 100, id="large")).encode()
    settings.EDITOR_MAX_BODY = len(body) - 1
    before = everything_stored()
    assert is_refusal(alice.post(kind.path, body), 413, "payload_too_large")
    assert everything_stored() == before
    settings.EDITOR_MAX_BODY = len(body)
    assert alice.post(kind.path, body).status == 201
