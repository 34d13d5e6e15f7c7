"""Ids and label names: which are allowed, how an id is encoded, and what id a name suggests."""

from __future__ import annotations

import json
import shutil
import string
import subprocess
from urllib.parse import unquote

import pytest
from editor_client.shared import ids
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import Cast
from tests.support.api import Api, Kind
from tests.support.configurations import unhurried

pytestmark = pytest.mark.database

ALLOWED = [
    "writer",
    "W",
    "0",
    "team/support",
    "a/b/c/d",
    "two words",
    "a.b_c-d~e",
    "..hidden",
    "...",
    "v1.0/.config",
    "50%",
    "a%2Fb",
    "a?b#c&d=e+f",
    "'quoted' \"twice\"",
    "back\\slash",
    "<b>",
    "é",
    "漢字",
    "مرحبا",
    "\U0001f600",
    "Versions",
    "versions-2",
    "my-versions/x",
    "draft",
    "latest",
    "a" * 200,
    "é" * 33,
    "/".join(["a"] * 50),
]

REFUSED = {
    "empty": "",
    "a slash alone": "/",
    "a slash first": "/a",
    "a slash last": "a/",
    "an empty segment": "a//b",
    "a dot": ".",
    "two dots": "..",
    "a dot as a segment": "a/./b",
    "two dots as a segment": "a/../b",
    "two dots at the end": "a/..",
    "a space first": " a",
    "a space last": "a ",
    "a space": " ",
    "NUL": "a\0b",
    "a line break": "a\nb",
    "a tab": "a\tb",
    "delete": "a\x7fb",
    "a C1 control": "a\x85b",
    "a no-break space": "a\u00a0b",
    "a soft hyphen": "a\u00adb",
    "a zero-width space": "a\u200bb",
    "a zero-width joiner": "a\u200db",
    "a mark of direction": "a\u200eb",
    "an override of direction": "a\u202eb",
    "a line separator": "a\u2028b",
    "a word joiner": "a\u2060b",
    "a byte order mark": "a\ufeffb",
    "a tag character": "a\U000e0041b",
    "a variation selector": "a\ufe0fb",
    "a Hangul filler": "a\u3164b",
    "a blank Braille pattern": "a\u2800b",
    "a combining grapheme joiner": "a\u034fb",
    "a lone surrogate": "a\ud800b",
    "an unassigned code point": "a\U000effffb",
    "a private one": "a\ue000b",
    "decomposed": "e\u0301",
    "a compatibility ideograph": "\ufa10",
    "201 bytes": "a" * 201,
    "204 bytes once encoded": "é" * 34,
    "202 bytes with the slashes encoded": "/".join(["a"] * 51),
}

RESERVED = [
    "versions",
    "dependents",
    "export",
    "labels",
    "preview-instructions",
    "unpublish",
    "schedule",
    "clone",
    "generate",
    "stream",
    "favorite",
    "change-request",
]

ENCODED = {
    "writer": "writer",
    "team/support": "team%2Fsupport",
    "a b": "a%20b",
    "-_.!~*'()": "-_.!~*'()",
    ";,/?:@&=+$#": "%3B%2C%2F%3F%3A%40%26%3D%2B%24%23",
    "%": "%25",
    "a%2Fb": "a%252Fb",
    '"<>\\^`{|}[]': "%22%3C%3E%5C%5E%60%7B%7C%7D%5B%5D",
    "é": "%C3%A9",
    "漢": "%E6%BC%A2",
    "\U0001f600": "%F0%9F%98%80",
}

SLUGS = {
    "Writer": "writer",
    "My Agent 2": "my-agent-2",
    "  --Hello,   World!-- ": "hello-world",
    "a_b.c/d": "a-b-c-d",
    "Über Ärger": "ber-rger",
    "ABC123": "abc123",
    "İstanbul": "i-stanbul",
    "漢字": "",
    "!!!": "",
}

LABELS = ["a", "1a", "v1", "v1.2.3", "blue_green", "a-b", "a..b", "1-2", "x" * 64, "latest2", "drafts"]
NOT_LABELS = [
    *("", "A", "a b", "é", "-a", "a-", ".a", "a.", "_a", "a_", "a/b", "a\n", "x" * 65),
    *("1", "007", "1" * 64),
    *("latest", "production", "draft", "published"),
]


@pytest.mark.parametrize("resource_id", ALLOWED)
def test_an_allowed_id_is_allowed(resource_id: str) -> None:
    assert ids.problem(resource_id) is None


@pytest.mark.parametrize("resource_id", REFUSED.values(), ids=REFUSED)
def test_a_refused_id_is_refused_with_a_reason(resource_id: str) -> None:
    assert ids.problem(resource_id)


@pytest.mark.parametrize("word", RESERVED)
@pytest.mark.parametrize("template", ["{}", "team/{}", "{}/team", "a/{}/b"])
def test_a_word_of_the_routes_is_no_segment_of_an_id(word: str, template: str) -> None:
    assert word in (ids.problem(template.format(word)) or "")


def test_exactly_the_words_of_the_routes_are_reserved() -> None:
    assert sorted(RESERVED) == sorted(ids.RESERVED_SEGMENTS)


@pytest.mark.parametrize(("resource_id", "expected"), ENCODED.items())
def test_an_id_is_encoded_as_encode_uri_component_does(resource_id: str, expected: str) -> None:
    assert ids.encode(resource_id) == expected


def test_javascript_agrees_on_every_character() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("`node` is not installed, so there is nothing to compare with.")
    samples = [*string.printable, *map(chr, range(0x80, 0xD800)), "\ue000", "\uffff", "\U0001f600", *ALLOWED]
    program = (
        "const given = JSON.parse(require('fs').readFileSync(0));"
        "process.stdout.write(JSON.stringify(given.map(encodeURIComponent)))"
    )
    done = subprocess.run(
        [node, "-e", program], input=json.dumps(samples), capture_output=True, text=True, check=True
    )
    assert [ids.encode(sample) for sample in samples] == json.loads(done.stdout)


@given(st.text(st.characters(exclude_categories=["Cs"])))
@unhurried
def test_an_encoded_id_is_a_single_segment_that_decodes_to_the_id(resource_id: str) -> None:
    encoded = ids.encode(resource_id)
    assert encoded.isascii()
    assert "/" not in encoded
    assert unquote(encoded) == resource_id


@pytest.mark.parametrize(("name", "expected"), SLUGS.items())
def test_a_name_suggests_an_id(name: str, expected: str) -> None:
    assert ids.slug(name) == expected


@given(st.text())
@unhurried
def test_what_a_name_suggests_is_plain(name: str) -> None:
    slug = ids.slug(name)
    assert set(slug) <= set(string.ascii_lowercase + string.digits + "-")
    assert not slug.startswith("-") and not slug.endswith("-") and "--" not in slug


@pytest.mark.parametrize("name", LABELS)
def test_an_allowed_label_is_allowed(name: str) -> None:
    assert ids.label_problem(name) is None


@pytest.mark.parametrize("name", NOT_LABELS)
def test_a_refused_label_is_refused_with_a_reason(name: str) -> None:
    assert ids.label_problem(name)


@pytest.mark.parametrize("resource_id", ALLOWED)
def test_a_resource_is_found_by_its_encoded_id(alice: Api, kind: Kind, resource_id: str) -> None:
    made = alice.post(kind.path, kind.body(id=resource_id))
    assert (made.status, made.body["id"]) == (201, resource_id)
    assert made.headers["Location"] == f"/api{kind.path}/{ids.encode(resource_id)}"
    found = alice.get(f"{kind.path}/{ids.encode(resource_id)}")
    assert (found.status, found.body["id"]) == (200, resource_id)


def test_a_slash_in_an_id_may_stand_plain_in_a_url(alice: Api, kind: Kind) -> None:
    kind.make(alice, "team/support/first")
    record = alice.get(f"{kind.path}/team/support/first")
    versions = alice.get(f"{kind.path}/team/support/first/versions")
    assert record.body["id"] == "team/support/first"
    assert [version["versionNumber"] for version in versions.body["versions"]] == [1]


def test_nothing_is_created_under_a_refused_id(cast: Cast, kind: Kind) -> None:
    for name, resource_id in REFUSED.items():
        refused = cast.alice.post(kind.path, kind.body(id=resource_id))
        assert (refused.status, refused.code) == (400, "validation_failed"), name
        # Text that no JSON document may hold is refused before anybody asks which field it was in.
        expected = ["body"] if {"\0", "\ud800"} & set(resource_id) else ["id"]
        assert refused.fields == expected, name
    assert cast.alice.get(kind.path, status="all").body["total"] == 0


def test_an_id_is_made_of_the_name(alice: Api, kind: Kind) -> None:
    made = alice.post(kind.path, kind.body(name="  My Second Writer! "))
    assert (made.status, made.body["id"]) == (201, "my-second-writer")


@pytest.mark.parametrize("name", ["漢字", "!", "versions", "Generate!", "x" * 201])
def test_a_name_that_suggests_no_allowed_id_needs_an_explicit_one(alice: Api, kind: Kind, name: str) -> None:
    refused = alice.post(kind.path, kind.body(name=name))
    assert (refused.status, refused.fields) == (400, ["id"])
    assert alice.post(kind.path, kind.body(name=name, id="explicit")).status == 201


def test_an_agent_and_a_block_may_have_the_same_id(alice: Api) -> None:
    assert alice.post("/stored/agents", {"id": "same", "name": "A", "instructions": "agent"}).status == 201
    assert alice.post("/stored/prompt-blocks", {"id": "same", "name": "B", "content": "block"}).status == 201
    assert alice.get("/stored/agents/same").body["instructions"] == "agent"
    assert alice.get("/stored/prompt-blocks/same").body["content"] == "block"
