"""Odd ids, selectors, query strings and headers: each gets a clear answer, and leaves nothing behind."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

import pytest

from tests.support.api import Answer, Api, Kind
from tests.support.unchanged import everything_stored, is_refusal

# As they stand in the URL; each is another text than the id `writer`, or no id at all.
ODD_IDS = {
    "NUL": "%00",
    "NUL at the end": "writer%00",
    "the folder": ".",
    "the folder above": "..",
    "the folder above, encoded": "%2e%2e",
    "a way down and up": "writer/../writer",
    "a way out": "..%2f..%2f..%2fetc%2fpasswd",
    "an empty segment in front": "/writer",
    "an empty segment inside": "writer//writer",
    "a slash at the end": "writer/",
    "an encoded slash at the end": "writer%2F",
    "a space in front": "%20writer",
    "a space at the end": "writer%20",
    "a line break at the end": "writer%0A",
    "a line break and more": "writer%0D%0AX-Injected:%201",
    "a tab": "wri%09ter",
    "a zero-width space": "writer%E2%80%8B",
    "a byte order mark": "%EF%BB%BFwriter",
    "a right-to-left mark": "%E2%80%8Fwriter",
    "a variation selector": "writer%EF%B8%8F",
    "letters that look alike": "wr%D1%96ter",
    "a decomposed letter": "e%CC%81",
    "another case": "WRITER",
    "201 bytes": "x" * 201,
    "201 bytes once encoded": "%C3%A9" * 34,
    "very many bytes": "x" * 50_000,
    "very many segments": "x/" * 20_000 + "x",
    "a reserved word": "versions",
    "a reserved word inside": "writer/schedule/writer",
    "encoded twice": "wri%2574er",
    "a statement": quote("'; DROP TABLE versioning_agent; --", safe=""),
    "a condition": quote("writer' OR '1'='1", safe=""),
    "a pattern": "wri%25",
    "a backslash": "writer%5C",
    "an asterisk": "*",
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
ODD_QUERIES = {
    "page=-1": "page",
    "page=1.5": "page",
    "page=1e3": "page",
    "page=": "page",
    "page=%20": "page",
    "page=%D9%A1": "page",
    "page=%00": "page",
    "page=99999999999999999999": "page",
    "page=0&page=0": "page",
    "perPage=-1": "perPage",
    "perPage=1001": "perPage",
    "perPage=all": "perPage",
    "perPage=NaN": "perPage",
    "orderBy=createdAt": "orderBy",
    "orderBy[x]=id": "orderBy[x]",
    "orderBy[field]=id": "orderBy[field]",
    "orderBy[field]=name": "orderBy[field]",
    "orderBy[field]=created_at": "orderBy[field]",
    "orderBy[field]=author__password": "orderBy[field]",
    "orderBy[field]=createdAt;DROP%20TABLE%20versioning_agent": "orderBy[field]",
    "orderBy[direction]=asc": "orderBy[direction]",
    "orderBy[direction]=": "orderBy[direction]",
    "status=PUBLISHED": "status",
    "status=archived": "status",
    "status=": "status",
    "status=all&status=draft": "status",
    "STATUS=draft": "STATUS",
    "hasDraft=": "hasDraft",
    "hasDraft=1": "hasDraft",
    "hasDraft=True": "hasDraft",
    "favoritedOnly=": "favoritedOnly",
    "favoritedOnly=True": "favoritedOnly",
    "tag=": "tag",
    "tag=,": "tag",
    "tag=%00": "tag",
    "tag=a&tag=b": "tag",
    "search=%00": "search",
    "authorId=%00": "authorId",
    "author__password=x": "author__password",
    "workspaceId=": "workspaceId",
    "workspaceId=%00": "workspaceId",
    "workspace__name=Acme": "workspace__name",
    "metadata=": "metadata",
    "metadata={": "metadata",
    "metadata=[]": "metadata",
    "metadata=null": "metadata",
    "metadata=%22a%22": "metadata",
    "metadata=%FF": "metadata",
    'metadata={"a":NaN}': "metadata",
    'metadata={"a":1e999}': "metadata",
    'metadata={"a":"%5Cu0000"}': "metadata",
    'metadata={"a":"%5Cud800"}': "metadata",
    'metadata={"a":1,"a":2}': "metadata",
    f'metadata={{"a":{"[" * 64}{"]" * 64}}}': "metadata",
    f'metadata={{"a":{"[" * 5000}': "metadata",
    'metadata={"":1}': "metadata.",
    'metadata={"a.b":1}': "metadata.a.b",
    'metadata={"a b":1}': "metadata.a b",
    'metadata={"a\') OR 1=1 --":1}': "metadata.a') OR 1=1 --",
    'metadata={"0":1}': "metadata.0",
    'metadata={"$":1}': "metadata.$",
    'metadata={"a[0]":1}': "metadata.a[0]",
    'metadata={"é":1}': "metadata.é",
    'metadata={"a%5Cn":1}': "metadata.a\n",
    "requestContext=": "requestContext",
    "versionId=": "versionId",
    "label=": "label",
    "label=stable": "label",
    "constructor=1": "constructor",
    "%00=1": "\x00",
    "=1": "",
    "id__in=writer": "id__in",
    "[]=1": "[]",
}


@pytest.fixture
def version_id(alice: Api, kind: Kind) -> str:
    """The id of the published version of `writer`, which has a draft and a label too."""
    version_id = str(kind.make(alice, autoPublish=True)["activeVersionId"])
    assert alice.put(kind.url("writer", "labels", "stable"), {"versionId": version_id}).status == 200
    kind.save(alice)
    return version_id


@pytest.fixture
def nothing_changes(version_id: str) -> Iterator[None]:
    """Whatever a test sends, afterwards everything is as it was."""
    before = everything_stored()
    yield
    assert everything_stored() == before


pytestmark = [pytest.mark.database, pytest.mark.usefixtures("nothing_changes")]


def everything_one_can_do(api: Api, address: str, version_id: str) -> list[Answer]:
    """Try all verbs on one resource; the address stands in the URL as it is."""
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


def test_an_odd_id_is_as_missing_as_any(alice: Api, kind: Kind, version_id: str) -> None:
    missing = everything_one_can_do(alice, kind.url("missing"), version_id)
    assert {answer.status for answer in missing} == {404}
    wrong = {}
    for name, odd in ODD_IDS.items():
        address = f"{kind.path}/{odd}"
        if name in EVERY_WAY:
            answers, expected = everything_one_can_do(alice, address, version_id), missing
        else:
            answers, expected = [alice.get(address), alice.patch(address, {"name": "Changed"})], missing[:2]
        if differ(answers, expected):
            wrong[name] = [(answer.status, answer.body) for answer in answers]
    assert wrong == {}


def differ(answers: list[Answer], expected: list[Answer]) -> bool:
    pairs = zip(answers, expected, strict=True)
    return any((one.status, one.body) != (other.status, other.body) for one, other in pairs)


def test_an_id_that_is_no_utf_8_is_refused(alice: Api, kind: Kind, version_id: str) -> None:
    answers = [
        answer
        for broken in BROKEN_IDS
        for answer in everything_one_can_do(alice, f"{kind.path}/{broken}", version_id)
    ]
    assert all(
        is_refusal(answer, 404, "not_found") or is_refusal(answer, 400, "bad_request") for answer in answers
    ), answers


def test_an_agent_of_an_odd_id_is_not_served(alice: Api) -> None:
    answers = {name: alice.get(f"/agents/{odd}") for name, odd in ODD_IDS.items()}
    assert {name: a.status for name, a in answers.items() if not is_refusal(a, 404, "not_found")} == {}


def test_an_odd_version_is_missing(alice: Api, kind: Kind) -> None:
    wrong = {name: wrong_answers(alice, kind, odd) for name, odd in ODD_VERSIONS.items()}
    assert {name: found for name, found in wrong.items() if found} == {}


def test_a_version_has_one_spelling(alice: Api, kind: Kind, version_id: str) -> None:
    wrong = {name: wrong_answers(alice, kind, spell(version_id)) for name, spell in SPELLINGS.items()}
    assert {name: found for name, found in wrong.items() if found} == {}


def wrong_answers(api: Api, kind: Kind, odd: str) -> list[Answer]:
    """Return the answers to whoever names this version that do not say that it is missing."""
    address = kind.url("writer", "versions", odd)
    answers = [
        api.get(address),
        api.delete(address),
        api.post(f"{address}/activate"),
        api.post(f"{address}/restore"),
    ]
    selected = api.get(f"{kind.url('writer')}?versionId={odd}")
    found = [answer for answer in answers if not is_refusal(answer, 404, "not_found")]
    # What no text can hold is no version id at all.
    return (
        found if selected.status in ({400, 404} if odd in {"%00", "%FF"} else {404}) else [*found, selected]
    )


def test_an_odd_query_is_refused_by_name(alice: Api, kind: Kind) -> None:
    answers = {query: alice.get(f"{kind.path}?{quote(query, safe='=&%[]')}") for query in ODD_QUERIES}
    wrong = {
        query: (answer.status, answer.body)
        for query, answer in answers.items()
        if not is_refusal(answer, 400, "validation_failed") or answer.fields != [ODD_QUERIES[query]]
    }
    assert wrong == {}


@pytest.mark.parametrize("query", ["search=%FF", "search=%ED%A0%80", "authorId=%FF", "workspaceId=%C3"])
def test_a_query_that_is_no_utf_8_is_refused(alice: Api, kind: Kind, query: str) -> None:
    answer = alice.get(f"{kind.path}?{query}")
    assert is_refusal(answer, 400, "validation_failed"), (answer.status, answer.body)


def test_far_too_many_parameters_are_refused(alice: Api, kind: Kind) -> None:
    query = "&".join(f"p{number}=1" for number in range(5_000))
    answer = alice.get(f"{kind.path}?{query}")
    assert answer.status == 400
    assert answer.body.keys() >= {"error", "code"}
