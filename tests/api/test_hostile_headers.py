"""Invalid methods, headers and filter values: each gets a clear answer, and changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import Cast
from tests.support.api import Answer, Api, Kind
from tests.support.unchanged import everything_stored, is_refusal


@pytest.fixture
def writer(alice: Api, kind: Kind) -> str:
    kind.make(alice, autoPublish=True)
    return kind.url("writer")


@pytest.fixture(autouse=True)
def nothing_changes(writer: str) -> Iterator[None]:
    """Check that no test changes anything that is stored."""
    before = everything_stored()
    yield
    assert everything_stored() == before


Asked = dict[str, list[Answer]]


def others(found: Asked, status: int, code: str) -> dict[str, list[Any]]:
    """Return the answers that differ from this refusal."""
    return {
        given: [(answer.status, answer.body) for answer in answers]
        for given, answers in found.items()
        if not all(is_refusal(answer, status, code) for answer in answers)
    }


ODD_CREDENTIALS = [
    "",
    "Bearer",
    "Bearer ",
    "Bearer  ",
    "Bearer ek_",
    "Bearer ek_unknown",
    "Bearer ek_{key}",
    "Bearer \xff\xfe",
    "Bearer \x00",
    "Bearer ' OR 1=1 --",
    "Bearer " + "x" * 20_000,
    "Bearer {key} {key}",
    "Bearer {key}x",
    "Bearer {prefix}",
    "bearer:{key}",
    "Basic {key}",
    "Basic !!!",
    "Token {key}",
    "{key}",
    "\xff",
]
ODD_SESSIONS = ["sessionid=x", "sessionid=\xff", "sessionid=' OR 1=1 --", "=", ";;;"]


def test_malformed_credentials_are_refused(cast: Cast, kind: Kind, writer: str) -> None:
    headers = [
        {"authorization": given.format(key=cast.alice.key, prefix=cast.alice.key[:11])}
        for given in ODD_CREDENTIALS
    ]
    headers += [{"cookie": given} for given in ODD_SESSIONS]
    found = {
        str(given): [
            cast.nobody.request("GET", kind.path, **given),
            cast.nobody.request("POST", kind.path, kind.body(id="new"), **given),
            cast.nobody.request("DELETE", writer, **given),
            cast.nobody.request("GET", "/agents", **given),
        ]
        for given in headers
    }
    assert others(found, 401, "unauthorized") == {}
    assert all(
        one.headers["WWW-Authenticate"].startswith("Bearer") for each in found.values() for one in each
    )


ODD_TAGS = ["", " ", ",", '"', '""', '"x', "x", "W/", 'W/"x"', '"\xff"', '"x", "y"', '"x"' * 5_000]


def test_a_malformed_if_match_never_matches(alice: Api, kind: Kind, writer: str) -> None:
    record = alice.get(writer)
    version = record.body["activeVersionId"]
    tag = record.etag.strip('"')
    found = {
        given: [
            alice.patch(writer, {"name": "Changed"}, if_match=given),
            alice.delete(writer, if_match=given),
            alice.post(f"{writer}/versions/{version}/restore", if_match=given),
            alice.put(f"{writer}/labels/stable", {"versionId": version}, if_match=given),
        ]
        for given in [*ODD_TAGS, f"'{tag}'", f'"{tag}x"']
    }
    assert others(found, 412, "edit_conflict") == {}
    assert found["x"][0].body["current"]["latestVersionId"] == version


def test_a_malformed_if_none_match_is_answered_in_full(alice: Api, writer: str) -> None:
    answers = {given: alice.request("GET", writer, if_none_match=given) for given in ODD_TAGS}
    assert {given for given, answer in answers.items() if answer.status != 200} == set()
    assert {answer.body["id"] for answer in answers.values()} == {"writer"}


def test_an_invalid_host_is_refused(alice: Api, writer: str) -> None:
    found = {
        host: [
            alice.request("GET", writer, host=host),
            alice.request("PATCH", writer, {"name": "Changed"}, host=host),
        ]
        for host in ("evil.example", "127.0.0.1.evil.example", "a b", "\xff", "127.0.0.1:x", "@", "")
    }
    assert others(found, 400, "bad_request") == {}


def test_an_accept_header_that_excludes_json_is_refused(alice: Api, writer: str) -> None:
    found = {
        accept: [
            alice.request("GET", writer, accept=accept),
            alice.request("PATCH", writer, {"name": "Changed"}, accept=accept),
        ]
        for accept in ("text/html", "application/xml", "image/*", "nonsense", "application/json2")
    }
    assert others(found, 406, "not_acceptable") == {}


def test_a_method_is_not_overridden_by_a_header(alice: Api, writer: str) -> None:
    for header in ("x_http_method_override", "x_http_method", "x_method_override"):
        answer = alice.request("GET", writer, **{header: "DELETE"})
        assert (answer.status, answer.body["id"]) == (200, "writer"), header


def test_an_invalid_request_id_is_replaced(alice: Api) -> None:
    for given in ("", "a b", "x" * 65, "\xff", "{}", 'a"b', "a\nb"):
        answer = alice.request("GET", "/agents", x_request_id=given)
        assert answer.status == 200
        assert answer.headers["X-Request-ID"].isalnum(), given


def test_sql_in_a_filter_is_plain_text(alice: Api, kind: Kind) -> None:
    for value in (
        "' OR 1=1 --",
        "') OR ('1'='1",
        "'; DROP TABLE versioning_agent; --",
        '" OR ""="',
        "{{ 7*7 }}",
    ):
        for parameter in ("search", "authorId", "workspaceId"):
            answer = alice.get(kind.path, **{"status": "all", parameter: value})
            assert (answer.status, answer.body["total"]) == (200, 0), (parameter, value)


def test_unusual_metadata_values_are_compared_literally(alice: Api, kind: Kind) -> None:
    for metadata in (
        '{"a": "\' OR 1=1 --"}',
        '{"a__contains": ""}',
        '{"a": {"b": [1, {"c": null}]}}',
        '{"a": 1e308}',
        '{"a": 123456789012345678901234567890}',
        '{"a": ' + "7" * 4_000 + "}",
        '{"__class__": "x", "constructor": {}, "length": 0}',
        "{" + ", ".join(f'"k{number}": 1' for number in range(20)) + "}",
    ):
        answer = alice.get(kind.path, status="all", metadata=metadata)
        assert (answer.status, answer.body["total"]) == (200, 0), metadata
