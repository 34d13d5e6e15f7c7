"""The saved filters of a person: named, renamed and deleted, and visible to that person only."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

from django.contrib.auth.models import User

from studio.models import SavedFilter
from studio.resources.filters import MAX_FILTERS
from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Kind
from tests.support.studio import KINDS, PageResponse, Visitor


def page(kind: Kind) -> str:
    return KINDS[kind].address("filters")


def save(window: Visitor, kind: Kind, name: str, query: str = "state=changed") -> PageResponse:
    return window.post(page(kind), name=name, query=query)


def names(name: str, kind: Kind) -> list[str]:
    user = User.objects.get(username=name)
    return [one.name for one in SavedFilter.objects.of(user.pk, KINDS[kind].slug)]


def test_a_saved_filter_links_to_the_list(cast: Cast, kind: Kind) -> None:
    edgar, address = Visitor("edgar"), KINDS[kind].address("changelist")
    assert "Save this filter" in edgar.get(address, tag="red").text
    assert "Save this filter" not in edgar.get(address).text
    done = save(edgar, kind, "  my   drafts ", "nonsense=1&page=3&tag=red&state=gone&q=&author=edgar")
    assert done.status == 302
    found = urlsplit(done.headers["Location"])
    assert (found.path, parse_qs(found.query)) == (address, {"tag": ["red"], "author": ["edgar"]})
    seen = edgar.get(done.headers["Location"])
    assert "my drafts" in seen.text and "Save this filter" not in seen.text
    assert f"?{found.query}" in edgar.get(address).links


def test_a_filter_belongs_to_one_person_and_one_list(cast: Cast) -> None:
    save(Visitor("edgar"), AGENTS, "mine")
    mine = SavedFilter.objects.get()
    assert "mine" not in Visitor("edgar").get(page(PROMPT_BLOCKS)).text
    for name in ("paula", "alice", "root", "charlie"):
        other = Visitor(name)
        assert "mine" not in other.get(page(AGENTS)).text
        for sent in ({"delete": str(mine.pk)}, {"rename": str(mine.pk), "name": "theirs"}):
            assert other.post(page(AGENTS), **sent).status == 404
    assert Visitor("edgar").post(page(PROMPT_BLOCKS), delete=str(mine.pk)).status == 404
    assert names("edgar", AGENTS) == ["mine"]
    save(Visitor("paula"), AGENTS, "mine")
    assert names("paula", AGENTS) == ["mine"]


def test_a_filter_is_renamed_and_deleted(cast: Cast, kind: Kind) -> None:
    edgar = Visitor("edgar")
    save(edgar, kind, "one")
    save(edgar, kind, "two", "tag=red")
    one = SavedFilter.objects.get(name="one")
    assert edgar.post(page(kind), rename=str(one.pk), name="first").status == 302
    refused = edgar.post(page(kind), rename=str(one.pk), name="two")
    assert (refused.status, "You already have a filter with this name." in refused.text) == (400, True)
    assert names("edgar", kind) == ["first", "two"]
    assert edgar.post(page(kind), delete=str(one.pk)).status == 302
    assert names("edgar", kind) == ["two"]


def test_an_invalid_filter_is_refused_with_the_reason(cast: Cast) -> None:
    edgar = Visitor("edgar")
    save(edgar, AGENTS, "twice")
    for name, query, why in [
        ("", "tag=red", "Give it a name."),
        ("a\x00b", "tag=red", "Give it a name."),
        ("x" * 81, "tag=red", "80 characters at most"),
        ("twice", "tag=red", "already have a filter with this name"),
        ("fine", "", "there is nothing to save"),
        ("fine", "page=2&unknown=1", "there is nothing to save"),
        ("fine", f"q={'%C3%A9' * 190}&author={'%C3%A9' * 190}", "there is nothing to save"),
    ]:
        seen = save(edgar, AGENTS, name, query)
        assert (seen.status, why in seen.text, names("edgar", AGENTS)) == (400, True, ["twice"])


def test_the_number_of_saved_filters_is_limited(cast: Cast) -> None:
    edgar = Visitor("edgar")
    for number in range(MAX_FILTERS):
        assert save(edgar, AGENTS, str(number)).status == 302
    seen = save(edgar, AGENTS, "one too many")
    assert (seen.status, "delete one first" in seen.text) == (400, True)
    assert "Save this filter" not in edgar.get(KINDS[AGENTS].address("changelist"), tag="red").text
