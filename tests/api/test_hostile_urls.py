"""Invalid ids, selectors and query strings: each gets a clear answer, and changes nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from urllib.parse import quote, urlencode

import pytest

from tests.conftest import Cast
from tests.support.api import Answer, Api, Kind
from tests.support.openapi import ROUTES
from tests.support.unchanged import everything_stored, is_refusal

# As written in the URL; each differs from the id `writer`, or is no id at all.
ODD_IDS = {
    "NUL": "%00",
    "the folder": ".",
    "the folder above, encoded": "%2e%2e",
    "a way down and up": "writer/../writer",
    "a way out": "..%2f..%2f..%2fetc%2fpasswd",
    "an empty segment in front": "/writer",
    "an empty segment inside": "writer//writer",
    "a slash at the end": "writer/",
    "a space at the end": "writer%20",
    "a line break at the end": "writer%0A",
    "a line break and more": "writer%0D%0AX-Injected:%201",
    "a zero-width space": "writer%E2%80%8B",
    "letters that look alike": "wr%D1%96ter",
    "a decomposed letter": "e%CC%81",
    "another case": "WRITER",
    "201 bytes": "x" * 201,
    "very many bytes": "x" * 50_000,
    "very many segments": "x/" * 20_000 + "x",
    "a reserved word": "versions",
    "a reserved word inside": "writer/schedule/writer",
    "encoded twice": "wri%2574er",
    "a statement": quote("'; DROP TABLE versioning_agent; --", safe=""),
    "a pattern": "wri%25",
    "a backslash": "writer%5C",
}
ODD_VERSIONS = {
    "NUL": "%00",
    "a byte that is no UTF-8": "%FF",
    "a number": "1",
    "no UUID": "not-a-uuid",
    "a Git version": "git-0123456789abcdef0123456789abcdef01234567",
    "a file version": "file-0123456789ab",
    "a word": "latest",
    "the nil UUID": "00000000-0000-0000-0000-000000000000",
    "very many bytes": "x" * 10_000,
    "a statement": quote("' OR 1=1 --", safe=""),
}
# These are no texts at all.
EVERY_WAY = ("NUL", "the folder above, encoded", "a slash at the end", "a reserved word inside")
"""Of these everything is tried; the others have no other way into the service."""
BROKEN_IDS = ["%FF", "%C3", "%ED%A0%80", "writer%C0%AF", "writer%FF", "%FFwriter"]
# Other spellings of a UUID are not the id of the version.
SPELLINGS = {
    "capitals": str.upper,
    "without dashes": lambda text: text.replace("-", ""),
    "braces": lambda text: f"%7B{text}%7D",
    "a URN": lambda text: f"urn:uuid:{text}",
    "a space": lambda text: f"{text}%20",
    "a line break": lambda text: f"{text}%0A",
    "a digit of another script": lambda text: text[:-1] + "%D9%A1",
}
ODD_QUERIES: dict[str, list[str]] = {
    "page": [*("-1", "1.5", "1e3", "", "%20", "%D9%A1", "%00", "99999999999999999999", "0&page=0")],
    "perPage": ["-1", "1001", "all", "NaN"],
    "orderBy": ["createdAt"],
    "orderBy[x]": ["id"],
    "orderBy[field]": [
        *("id", "name", "created_at", "author__password", "createdAt;DROP%20TABLE%20versioning_agent"),
    ],
    "orderBy[direction]": ["asc", ""],
    "status": ["PUBLISHED", "archived", "", "all&status=draft"],
    "STATUS": ["draft"],
    "hasDraft": ["", "1", "True"],
    "favoritedOnly": ["", "True"],
    "tag": ["", ",", "%00", "a&tag=b"],
    "search": ["%00"],
    "authorId": ["%00"],
    "author__password": ["x"],
    "workspaceId": ["", "%00"],
    "workspace__name": ["Acme"],
    "metadata": [
        *("", "{", "[]", "null", "%22a%22", "%FF", '{"a":NaN}', '{"a":1e999}', '{"a":1,"a":2}'),
        *('{"a":"%5Cu0000"}', '{"a":"%5Cud800"}'),
        *(f'{{"a":{"[" * 64}{"]" * 64}}}', f'{{"a":{"[" * 5000}'),
    ],
    "requestContext": [""],
    "versionId": [""],
    "label": ["", "stable"],
    "constructor": ["1"],
    "id__in": ["writer"],
    "[]": ["1"],
    "": ["1"],
}
ODD_METADATA_KEYS = ["", "a.b", "a-b", "a b", "a') OR 1=1 --", "0", "$", "a[0]", "é", "a\n", "%"]


@pytest.fixture
def version_id(alice: Api, kind: Kind) -> str:
    """The id of the published version of `writer`, which has a draft and a label too."""
    version_id = str(kind.make(alice, autoPublish=True)["activeVersionId"])
    assert alice.put(kind.url("writer", "labels", "stable"), {"versionId": version_id}).status == 200
    kind.save(alice)
    return version_id


@pytest.fixture
def nothing_changes(version_id: str) -> Iterator[None]:
    """Check that no test changes anything that is stored."""
    before = everything_stored()
    yield
    assert everything_stored() == before


pytestmark = pytest.mark.usefixtures("nothing_changes")


def answers_to_all_verbs(api: Api, address: str, version_id: str) -> list[Answer]:
    """Try all verbs on one resource, whose URL is sent unchanged."""
    return [
        api.get(address),
        api.patch(address, {"name": "Changed"}),
        api.delete(address),
        api.get(f"{address}/dependents"),
        api.post(f"{address}/export"),
        api.post(f"{address}/clone", {"newId": "copy"}),
        api.post(f"{address}/unpublish"),
        api.get(f"{address}/versions"),
        api.post(f"{address}/versions"),
        api.get(f"{address}/versions/{version_id}"),
        api.get(f"{address}/versions/compare", **{"from": version_id, "to": version_id}),
        api.post(f"{address}/versions/{version_id}/activate"),
        api.post(f"{address}/versions/{version_id}/restore"),
        api.delete(f"{address}/versions/{version_id}"),
        api.get(f"{address}/labels"),
        api.put(f"{address}/labels/stable", {"versionId": version_id}),
        api.delete(f"{address}/labels/stable"),
    ]


@pytest.mark.database
def test_an_invalid_id_is_answered_like_any_missing_id(alice: Api, kind: Kind, version_id: str) -> None:
    missing = answers_to_all_verbs(alice, kind.url("missing"), version_id)
    assert {answer.status for answer in missing} == {404}
    wrong = {}
    for name, odd in ODD_IDS.items():
        address = f"{kind.path}/{odd}"
        if name in EVERY_WAY:
            answers, expected = answers_to_all_verbs(alice, address, version_id), missing
        else:
            answers, expected = [alice.get(address), alice.patch(address, {"name": "Changed"})], missing[:2]
        if differ(answers, expected):
            wrong[name] = [(answer.status, answer.body) for answer in answers]
    assert wrong == {}


def differ(answers: list[Answer], expected: list[Answer]) -> bool:
    pairs = zip(answers, expected, strict=True)
    return any((one.status, one.body) != (other.status, other.body) for one, other in pairs)


def test_an_id_that_is_not_utf_8_is_refused(alice: Api, kind: Kind, version_id: str) -> None:
    answers = [
        answer
        for broken in BROKEN_IDS
        for answer in answers_to_all_verbs(alice, f"{kind.path}/{broken}", version_id)
    ]
    assert all(
        is_refusal(answer, 404, "not_found") or is_refusal(answer, 400, "bad_request") for answer in answers
    ), answers


def test_no_agent_is_served_under_an_invalid_id(alice: Api) -> None:
    answers = {name: alice.get(f"/agents/{odd}") for name, odd in ODD_IDS.items()}
    assert {name: a.status for name, a in answers.items() if not is_refusal(a, 404, "not_found")} == {}


@pytest.mark.database
def test_an_invalid_version_id_is_not_found(alice: Api, kind: Kind) -> None:
    wrong = {name: wrong_answers(alice, kind, odd) for name, odd in ODD_VERSIONS.items()}
    assert {name: found for name, found in wrong.items() if found} == {}


def test_other_spellings_of_a_version_id_are_not_found(alice: Api, kind: Kind, version_id: str) -> None:
    wrong = {name: wrong_answers(alice, kind, spell(version_id)) for name, spell in SPELLINGS.items()}
    assert {name: found for name, found in wrong.items() if found} == {}


def wrong_answers(api: Api, kind: Kind, odd: str) -> list[Answer]:
    """Return the answers to requests with this version id that do not report it as missing."""
    address = kind.url("writer", "versions", odd)
    answers = [
        api.get(address),
        api.delete(address),
        api.post(f"{address}/activate"),
        api.post(f"{address}/restore"),
    ]
    selected = api.get(f"{kind.url('writer')}?versionId={odd}")
    found = [answer for answer in answers if not is_refusal(answer, 404, "not_found")]
    # A version id that no text can hold is no version id at all.
    return (
        found if selected.status in ({400, 404} if odd in {"%00", "%FF"} else {404}) else [*found, selected]
    )


@pytest.mark.database
def test_the_refusal_of_an_invalid_query_names_the_parameter(alice: Api, kind: Kind) -> None:
    asked = [
        (name, f"{name}={quote(value, safe='=&%')}") for name in ODD_QUERIES for value in ODD_QUERIES[name]
    ]
    asked += [(f"metadata.{key}", urlencode({"metadata": json.dumps({key: 1})})) for key in ODD_METADATA_KEYS]
    asked.append(("\x00", "%00=1"))
    wrong = {}
    for field, query in asked:
        answer = alice.get(f"{kind.path}?{query}")
        if not is_refusal(answer, 400, "validation_failed") or answer.fields != [field]:
            wrong[query] = (answer.status, answer.body)
    assert wrong == {}


def test_a_query_that_is_not_utf_8_is_refused(alice: Api, kind: Kind) -> None:
    for query in ("search=%FF", "search=%ED%A0%80", "authorId=%FF", "workspaceId=%C3"):
        answer = alice.get(f"{kind.path}?{query}")
        assert is_refusal(answer, 400, "validation_failed"), (answer.status, answer.body)


def test_far_too_many_parameters_are_refused(alice: Api, kind: Kind) -> None:
    query = "&".join(f"p{number}=1" for number in range(5_000))
    answer = alice.get(f"{kind.path}?{query}")
    assert answer.status == 400
    assert answer.body.keys() >= {"error", "code"}


@pytest.mark.database
def test_every_route_refuses_nul_in_any_part_of_its_address(cast: Cast) -> None:
    wrong = {}
    for operation in ROUTES:
        method, _, route = operation.partition(" ")
        for place in range(route.count("{")):
            parts = route.replace("{}", "{x}").split("{x}")
            filled = ["a%00b" if number == place else "writer" for number in range(len(parts) - 1)]
            path = "".join(part + value for part, value in zip(parts, [*filled, ""], strict=True))
            answer = cast.root.request(method, path, {})
            if not is_refusal(answer, 404, "not_found"):
                wrong[f"{method} {path}"] = (answer.status, answer.body)
    assert wrong == {}
