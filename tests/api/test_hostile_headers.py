"""Odd methods, headers and filter values: each gets a clear answer, and leaves nothing behind."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conftest import Cast
from tests.support.api import Api, Kind
from tests.support.unchanged import everything_stored, is_refusal

WILDCARDS = {"%": "100% wool", "_": "snake_case", "\\": "back\\slash", "'": "it's", "*": "a*b"}


@pytest.fixture
def writer(alice: Api, kind: Kind) -> str:
    """The address of a published resource."""
    kind.make(alice, autoPublish=True)
    return kind.url("writer")


@pytest.fixture
def nothing_changes(writer: str) -> Iterator[None]:
    """Whatever a test sends, afterwards everything is as it was."""
    before = everything_stored()
    yield
    assert everything_stored() == before


@pytest.mark.usefixtures("nothing_changes")
@pytest.mark.parametrize(
    "authorization",
    [
        "",
        "Bearer",
        "Bearer ",
        "Bearer  ",
        "Bearer ek_",
        "Bearer \xff\xfe",
        "Bearer \x00",
        "Bearer ' OR 1=1 --",
        "Bearer " + "x" * 20_000,
        "Bearer {key} {key}",
        "Bearer {key}x",
        "Bearer {prefix}",
        "Basic {key}",
        "Basic !!!",
        "Token {key}",
        "{key}",
        "\xff",
    ],
)
def test_odd_credentials_open_nothing(cast: Cast, kind: Kind, writer: str, authorization: str) -> None:
    given = authorization.format(key=cast.alice.key, prefix=cast.alice.key[:11])
    answers = [
        cast.nobody.request("GET", kind.path, authorization=given),
        cast.nobody.request("GET", writer, authorization=given),
        cast.nobody.request("POST", kind.path, kind.body(id="new"), authorization=given),
        cast.nobody.request("PATCH", writer, {"name": "Changed"}, authorization=given),
        cast.nobody.request("DELETE", writer, authorization=given),
        cast.nobody.request("GET", "/agents", authorization=given),
    ]
    assert all(is_refusal(answer, 401, "unauthorized") for answer in answers), answers
    assert all(answer.headers["WWW-Authenticate"].startswith("Bearer") for answer in answers)


@pytest.mark.usefixtures("nothing_changes")
@pytest.mark.parametrize("cookie", ["sessionid=x", "sessionid=\xff", "sessionid=' OR 1=1 --", "=", ";;;"])
def test_an_odd_session_opens_nothing(cast: Cast, writer: str, cookie: str) -> None:
    answer = cast.nobody.request("GET", writer, cookie=cookie)
    assert is_refusal(answer, 401, "unauthorized"), (answer.status, answer.body)


@pytest.mark.usefixtures("nothing_changes")
@pytest.mark.parametrize(
    "tag",
    [
        "",
        " ",
        ",",
        '"',
        '""',
        '"x',
        "x",
        "W/",
        'W/"x"',
        '"\xff"',
        '"x", "y"',
        '"x"' * 5_000,
        "'{tag}'",
        '"{tag}x"',
    ],
)
def test_an_odd_if_match_does_not_hold(alice: Api, kind: Kind, writer: str, tag: str) -> None:
    record = alice.get(writer)
    given = tag.replace("{tag}", record.etag.strip('"'))
    version = record.body["activeVersionId"]
    answers = [
        alice.patch(writer, {"name": "Changed"}, if_match=given),
        alice.delete(writer, if_match=given),
        alice.post(f"{writer}/unpublish", if_match=given),
        alice.post(f"{writer}/versions/{version}/restore", if_match=given),
        alice.put(f"{writer}/labels/stable", {"versionId": version}, if_match=given),
    ]
    assert all(is_refusal(answer, 412, "edit_conflict") for answer in answers), answers
    assert answers[0].body["current"]["latestVersionId"] == version


@pytest.mark.usefixtures("nothing_changes")
@pytest.mark.parametrize("tag", ["", '"', '""', "x", 'W/"x"', '"\xff"', '"x"' * 5_000])
def test_an_odd_if_none_match_is_answered_in_full(alice: Api, kind: Kind, writer: str, tag: str) -> None:
    answer = alice.request("GET", writer, if_none_match=tag)
    assert (answer.status, answer.body["id"]) == (200, "writer")


@pytest.mark.usefixtures("nothing_changes")
@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "a b", "\xff", "127.0.0.1:x", "@", ""]
)
def test_an_odd_host_is_refused(alice: Api, kind: Kind, writer: str, host: str) -> None:
    for answer in (
        alice.request("GET", writer, host=host),
        alice.request("PATCH", writer, {"name": "Changed"}, host=host),
    ):
        assert is_refusal(answer, 400, "bad_request"), (answer.status, answer.body)


@pytest.mark.usefixtures("nothing_changes")
@pytest.mark.parametrize(
    "accept", ["text/html", "application/xml", "image/*", "nonsense", "application/json2"]
)
def test_what_cannot_be_served_as_json_is_refused(alice: Api, kind: Kind, writer: str, accept: str) -> None:
    for answer in (
        alice.request("GET", writer, accept=accept),
        alice.request("PATCH", writer, {"name": "Changed"}, accept=accept),
    ):
        assert is_refusal(answer, 406, "not_acceptable"), (answer.status, answer.body)


@pytest.mark.usefixtures("nothing_changes")
@pytest.mark.parametrize("method", ["PUT", "OPTIONS", "TRACE", "CONNECT", "BREW", "GET "])
def test_an_odd_method_is_refused(alice: Api, kind: Kind, writer: str, method: str) -> None:
    for path in (kind.path, writer, f"{writer}/versions", f"{writer}/labels/stable", "/agents"):
        if (method, path) == ("PUT", f"{writer}/labels/stable"):
            continue
        answer = alice.request(method, path, {"name": "Changed"})
        assert is_refusal(answer, 405, "method_not_allowed"), (path, answer.status, answer.body)


@pytest.mark.usefixtures("nothing_changes")
@pytest.mark.parametrize("header", ["x_http_method_override", "x_http_method", "x_method_override"])
def test_a_method_is_not_overridden_by_a_header(alice: Api, kind: Kind, writer: str, header: str) -> None:
    answer = alice.request("GET", writer, **{header: "DELETE"})
    assert (answer.status, answer.body["id"]) == (200, "writer")


@pytest.mark.parametrize("given", ["", "a b", "x" * 65, "\xff", "{}", 'a"b', "a\nb"])
def test_an_odd_request_id_is_replaced(alice: Api, given: str) -> None:
    answer = alice.request("GET", "/agents", x_request_id=given)
    assert answer.status == 200
    assert answer.headers["X-Request-ID"].isalnum()


@pytest.mark.parametrize("wildcard", WILDCARDS)
def test_a_search_takes_wildcards_for_what_they_are(alice: Api, kind: Kind, wildcard: str) -> None:
    for number, text in enumerate(WILDCARDS.values()):
        kind.make(alice, f"r{number}", text)
    found = alice.get(kind.path, status="all", search=wildcard).body[kind.list_key]
    assert [record[kind.text] for record in found] == [WILDCARDS[wildcard]]


@pytest.mark.usefixtures("nothing_changes")
@pytest.mark.parametrize(
    "value",
    [
        "' OR 1=1 --",
        "') OR ('1'='1",
        "'; DROP TABLE versioning_agent; --",
        '" OR ""="',
        "{{ 7*7 }}",
        "x" * 200,
    ],
)
def test_a_statement_in_a_filter_is_a_text(alice: Api, kind: Kind, value: str) -> None:
    for parameter in ("search", "authorId", "workspaceId"):
        answer = alice.get(kind.path, **{"status": "all", parameter: value})
        assert (answer.status, answer.body["total"], answer.body[kind.list_key]) == (200, 0, []), parameter


@pytest.mark.usefixtures("nothing_changes")
@pytest.mark.parametrize(
    "metadata",
    [
        '{"a": "\' OR 1=1 --"}',
        '{"a__contains": ""}',
        '{"a": {"b": [1, {"c": null}]}}',
        '{"a": 1e308}',
        '{"a": 123456789012345678901234567890}',
        '{"a": ' + "7" * 4_000 + "}",
        '{"__class__": "x", "constructor": {}, "length": 0}',
        "{" + ", ".join(f'"k{number}": 1' for number in range(20)) + "}",
    ],
)
def test_an_odd_value_of_metadata_is_compared_as_it_is(alice: Api, kind: Kind, metadata: str) -> None:
    answer = alice.get(kind.path, status="all", metadata=metadata)
    assert (answer.status, answer.body["total"]) == (200, 0)


@pytest.mark.usefixtures("nothing_changes")
def test_a_filter_by_very_many_keys_is_answered_or_refused(alice: Api, kind: Kind) -> None:
    wanted = "{" + ", ".join(f'"k{number}": 1' for number in range(2_000)) + "}"
    answer = alice.get(kind.path, status="all", metadata=wanted)
    refused = is_refusal(answer, 400, "validation_failed") and answer.fields == ["metadata"]
    assert refused or (answer.status, answer.body["total"]) == (200, 0), (answer.status, answer.body)
