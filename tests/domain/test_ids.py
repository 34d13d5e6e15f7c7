"""Ids and label names: which are allowed, how an id is encoded, and which id is derived from a name."""

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

ALLOWED = [
    "writer",
    "team/support",
    "two words",
    "a.b_c-d~e",
    "...",
    "a%2Fb",
    "a?b#c&d=e+f",
    "back\\slash",
    "é",
    "مرحبا",
    "Versions",
    "versions-2",
    "my-versions/x",
    "a" * 200,
    "é" * 33,
    "/".join(["a"] * 50),
]

REFUSED = {
    "empty": "",
    "a slash first": "/a",
    "a slash last": "a/",
    "an empty segment": "a//b",
    "two dots": "..",
    "a dot as a segment": "a/./b",
    "a space first": " a",
    "a space last": "a ",
    "NUL": "a\0b",
    "a line break": "a\nb",
    "a C1 control": "a\x85b",
    "a no-break space": "a\u00a0b",
    "a soft hyphen": "a\u00adb",
    "a zero-width space": "a\u200bb",
    "an override of direction": "a\u202eb",
    "a byte order mark": "a\ufeffb",
    "a tag character": "a\U000e0041b",
    "a variation selector": "a\ufe0fb",
    "a Hangul filler": "a\u3164b",
    "a lone surrogate": "a\ud800b",
    "an unassigned code point": "a\U000effffb",
    "a private one": "a\ue000b",
    "decomposed": "e\u0301",
    "a compatibility ideograph": "\ufa10",
    "201 bytes": "a" * 201,
    "202 bytes with the slashes encoded": "/".join(["a"] * 51),
}

ENCODED = {
    "writer": "writer",
    "team/support": "team%2Fsupport",
    "a b": "a%20b",
    "-_.!~*'()": "-_.!~*'()",
    ";,/?:@&=+$#": "%3B%2C%2F%3F%3A%40%26%3D%2B%24%23",
    "a%2Fb": "a%252Fb",
    '"<>\\^`{|}[]': "%22%3C%3E%5C%5E%60%7B%7C%7D%5B%5D",
    "é": "%C3%A9",
    "\U0001f600": "%F0%9F%98%80",
}

SLUGS = {
    "Writer": "writer",
    "My Agent 2": "my-agent-2",
    "  --Hello,   World!-- ": "hello-world",
    "Über Ärger": "ber-rger",
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


def test_ids_and_labels_are_allowed_or_refused_with_a_reason() -> None:
    for resource_id in ALLOWED:
        assert ids.problem(resource_id) is None, resource_id
    for name, resource_id in REFUSED.items():
        assert ids.problem(resource_id), name
    for name in LABELS:
        assert ids.label_problem(name) is None, name
    for name in NOT_LABELS:
        assert ids.label_problem(name), name


def test_a_word_of_the_routes_cannot_be_a_segment_of_an_id() -> None:
    reserved = "change-request clone dependents export favorite generate labels preview-instructions schedule"
    assert sorted(ids.RESERVED_SEGMENTS) == [*reserved.split(), "stream", "unpublish", "versions"]
    for word in ids.RESERVED_SEGMENTS:
        for template in ("{}", "team/{}", "{}/team", "a/{}/b"):
            assert word in (ids.problem(template.format(word)) or "")


def test_an_id_is_encoded_as_encode_uri_component_does_and_a_name_suggests_one() -> None:
    for resource_id, expected in ENCODED.items():
        assert ids.encode(resource_id) == expected
    for name, expected in SLUGS.items():
        assert ids.slug(name) == expected


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
def test_an_encoded_id_is_a_single_segment_that_decodes_to_the_id(resource_id: str) -> None:
    encoded = ids.encode(resource_id)
    assert encoded.isascii()
    assert "/" not in encoded
    assert unquote(encoded) == resource_id


@given(st.text())
def test_a_slug_has_only_lowercase_letters_digits_and_single_hyphens(name: str) -> None:
    slug = ids.slug(name)
    assert set(slug) <= set(string.ascii_lowercase + string.digits + "-")
    assert not slug.startswith("-") and not slug.endswith("-") and "--" not in slug


@pytest.mark.database
def test_a_resource_is_found_by_its_encoded_id(alice: Api, kind: Kind) -> None:
    for resource_id in ALLOWED:
        made = alice.post(kind.path, kind.body(id=resource_id))
        assert (made.status, made.body["id"]) == (201, resource_id)
        assert made.headers["Location"] == f"/api{kind.path}/{ids.encode(resource_id)}"
        found = alice.get(f"{kind.path}/{ids.encode(resource_id)}")
        assert (found.status, found.body["id"]) == (200, resource_id)


def test_a_slash_in_an_id_may_be_unencoded_in_a_url(alice: Api, kind: Kind) -> None:
    kind.make(alice, "team/support/first")
    record = alice.get(f"{kind.path}/team/support/first")
    versions = alice.get(f"{kind.path}/team/support/first/versions")
    assert record.body["id"] == "team/support/first"
    assert [version["versionNumber"] for version in versions.body["versions"]] == [1]


def test_nothing_is_created_under_a_refused_id(cast: Cast, kind: Kind) -> None:
    for name, resource_id in REFUSED.items():
        refused = cast.alice.post(kind.path, kind.body(id=resource_id))
        assert (refused.status, refused.code) == (400, "validation_failed"), name
        # Text that no JSON document may hold is refused before the fields are checked.
        expected = ["body"] if {"\0", "\ud800"} & set(resource_id) else ["id"]
        assert refused.fields == expected, name
    assert cast.alice.get(kind.path, status="all").body["total"] == 0


def test_an_id_is_derived_from_the_name_if_possible(alice: Api, kind: Kind) -> None:
    made = alice.post(kind.path, kind.body(name="  My Second Writer! "))
    assert (made.status, made.body["id"]) == (201, "my-second-writer")
    for number, name in enumerate(("漢字", "!", "versions", "Generate!", "x" * 201)):
        refused = alice.post(kind.path, kind.body(name=name))
        assert (refused.status, refused.fields) == (400, ["id"])
        assert alice.post(kind.path, kind.body(name=name, id=f"explicit-{number}")).status == 201
