"""The search over everything: the same answers on both databases, with and without a worker that follows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Kind
from versioning.conf import get_editor
from versioning.domain.access import APPLICATION, Caller
from versioning.domain.agents import PROMPT_BLOCK
from versioning.domain.errors import Invalid
from versioning.domain.kinds import KINDS
from versioning.editor.catalog import Catalog, Hit, TextSearch
from versioning.models import PromptBlock, SearchProgress, caller_for, events, text_search
from versioning.models.guarded import unguard

pytestmark = pytest.mark.database

Follow = Callable[[], None]


@pytest.fixture(params=["indexed", "not yet indexed"])
def follow(request: Any, db: None) -> Follow:
    """Let a worker update the index, or let it lag behind."""
    text_search.follow()
    return text_search.follow if request.param == "indexed" else lambda: None


def search(text: str, name: str = "edgar") -> TextSearch:
    caller: Caller = caller_for(User.objects.get(username=name))
    return TextSearch([Catalog(get_editor().collection(kind), by=caller) for kind in KINDS], text)


def hits(text: str, name: str = "edgar") -> list[Hit]:
    found = search(text, name)
    listed = found.hits(0, 50)
    assert sum(found.counts.values()) == len(listed)
    return listed


def ids(text: str, name: str = "edgar") -> list[str]:
    return [hit.entry.id for hit in hits(text, name)]


def shown(hit: Hit) -> str:
    return "".join(f"[{piece.text}]" if piece.is_hit else piece.text for piece in hit.excerpt)


def test_exact_names_come_first_then_beginnings_names_ids_descriptions_and_texts(
    cast: Cast, kind: Kind, follow: Follow
) -> None:
    kind.make(cast.edgar, "called", name="Párrots!")
    kind.make(cast.edgar, "parrots")
    kind.make(cast.edgar, "begun", name="Parrots of the world")
    kind.make(cast.edgar, "in-name", name="All about parrots")
    kind.make(cast.edgar, "team/parrots")
    kind.make(cast.edgar, "in-description", description="Parrots, too")
    kind.make(cast.edgar, "in-text", "nothing but parrots")
    kind.make(cast.edgar, "here-and-there", "of parrots", name="Tales")
    follow()
    others = ["in-name", "team/parrots", "in-description", "here-and-there", "in-text"]
    assert ids("parrots") == ["parrots", "called", "begun", *others]
    assert ids("parrots of") == ["begun", "here-and-there"]
    assert ids("parrot")[:3] == ["begun", "parrots", "called"]
    assert ids('"parrots"')[:3] == ["parrots", "called", "begun"]
    assert ids("tales parrot") == ["here-and-there"]


def test_agents_and_blocks_are_counted_and_can_be_listed_separately(cast: Cast, follow: Follow) -> None:
    AGENTS.make(cast.edgar, "same", "about parrots")
    PROMPT_BLOCKS.make(cast.edgar, "same", "parrots")
    PROMPT_BLOCKS.make(cast.edgar, "other", "parrots")
    follow()
    found = search("parrot")
    assert found.counts == {"agent": 1, "promptBlock": 2, "scorer": 0}
    assert [hit.kind.slug for hit in found.hits(0, 9)] == ["promptBlock", "promptBlock", "agent"]
    assert [hit.entry.id for hit in found.hits(0, 1, PROMPT_BLOCK)] == ["other"]
    assert [hit.entry.id for hit in found.hits(1, 2, PROMPT_BLOCK)] == ["same"]


def test_a_saved_text_is_found_by_the_next_search(cast: Cast, kind: Kind, follow: Follow) -> None:
    kind.make(cast.edgar, text="about parrots")
    follow()
    kind.save(cast.edgar, text="about <b>pelicans</b>")
    assert (ids("parrots"), ids("pelicans")) == ([], ["writer"])
    follow()
    assert (ids("parrots"), ids("pelicans")) == ([], ["writer"])
    assert shown(hits("pelicans")[0]) == "about <b>[pelicans]</b>"


def test_the_live_text_is_found_along_with_the_draft(cast: Cast, kind: Kind, follow: Follow) -> None:
    live = kind.make(cast.alice, text="about parrots", autoPublish=True)
    draft = kind.save(cast.edgar, text="about pelicans")
    follow()
    for name, text, version in (
        ("edgar", "pelicans", draft),
        ("edgar", "parrots", live),
        ("vera", "parrots", live),
        ("edgar", "about", draft),
        ("vera", "about", live),
    ):
        [hit] = hits(text, name)
        assert hit.version is not None
        assert hit.version.version_id == version["latestVersionId"], (name, text)


def test_deleted_texts_are_not_found_even_after_their_id_is_reused(
    cast: Cast, kind: Kind, follow: Follow
) -> None:
    kind.make(cast.alice, text="secret parrots", autoPublish=True)
    follow()
    assert cast.alice.delete(kind.url("writer")).status == 200
    assert ids("parrots", "alice") == []
    kind.make(cast.charlie, text="harmless", workspaceId="elsewhere", autoPublish=True)
    for _ in range(2):
        assert ids("parrots", "charlie") == ids("parrots", "alice") == []
        assert ids("harmless", "charlie") == ["writer"]
        follow()


def test_a_version_that_is_live_again_is_found_again(cast: Cast, kind: Kind, follow: Follow) -> None:
    first = kind.make(cast.alice, text="about parrots", autoPublish=True)
    kind.save(cast.alice, text="about pelicans", autoPublish=True)
    follow()
    assert ids("parrots") == []
    kind.publish(cast.alice, "writer", first["latestVersionId"])
    follow()
    assert ids("parrots") == ids("parrots", "vera") == ["writer"]


def test_words_and_phrases(cast: Cast, kind: Kind, follow: Follow) -> None:
    kind.make(cast.edgar, text="Refund policy for {{ customer.name || 'you' }}: 東京タワー, Straße.")
    follow()
    for text in ("refund pol", '"refund policy"', "{{customer.name}}", "京タ", "strasse", "RÉFUND", "you'"):
        assert ids(text) == ["writer"], text
    for text in ('"policy refund"', "refund of", "東タ", "customer_id"):
        assert ids(text) == [], text


TYPED = [
    '"', '""', "'", "*", "a* OR b", "NEAR(a b)", "name : x", "{name} : x", "-x ^y", "(", ")", "a AND",
    "\x00", "x\x00y", "a:*", "!a & b | c", "<-> x", "'x':A", "\\", "%", "%s %(a)s", "_", "x; DROP --",
    "\N{ZERO WIDTH SPACE}", "🙂", "\ufdfa", "\ud7ff", "x" * 200,
]  # fmt: skip


def test_no_search_text_is_an_error_or_a_command(cast: Cast, follow: Follow) -> None:
    PROMPT_BLOCKS.make(cast.edgar, "other", "nothing of the kind")
    follow()
    for text in TYPED:
        assert ids(text) in ([], ["other"]), text


def test_punctuation_and_parts_of_words_are_found_literally(cast: Cast, kind: Kind, follow: Follow) -> None:
    kind.make(cast.edgar, text="Ask {{ x || y }} for the Rückerstattungsrichtlinie")
    follow()
    assert ids("||") == ids("richtlinie") == ["writer"]
    assert search("||").is_inside and not search("ask").is_inside
    assert shown(hits("richtlinie")[0]).endswith("Rückerstattungs[richtlinie]")


def test_a_text_of_201_characters_is_refused(cast: Cast) -> None:
    with pytest.raises(Invalid):
        search("x" * 201)


def test_a_phrase_is_found_at_the_end_of_a_very_long_text(cast: Cast, follow: Follow) -> None:
    different = " ".join(f"word{number} the" for number in range(22_000))
    PROMPT_BLOCKS.make(cast.edgar, "long", f"{different} at the very end")
    follow()
    assert ids('"the very end"') == ids("word21999 very") == ["long"]
    assert ids('"very the end"') == []


# The index


def indexed() -> set[str]:
    return set(PromptBlock.document_model.objects.values_list("resource_id", flat=True))


def test_a_worker_indexes_resources_that_existed_before(cast: Cast) -> None:
    PROMPT_BLOCKS.make(cast.edgar, "old", "about parrots")
    assert ids("parrots") == ["old"] and indexed() == set()
    text_search.follow()
    assert ids("parrots") == ["old"] and indexed() == {"old"}
    assert text_search.missing() == {}


def test_with_too_many_unindexed_resources_the_search_uses_the_lists(
    cast: Cast, kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_search, "MAX_BEHIND", 2)
    for number in range(3):
        kind.make(cast.edgar, f"n{number}", f"parrots {number}")
    kind.make(cast.charlie, "theirs", "parrots", workspaceId="elsewhere", autoPublish=True)
    assert text_search.missing() is None
    assert sorted(ids("parrots")) == ["n0", "n1", "n2"] and ids("parrots", "vera") == []
    monkeypatch.setattr(text_search, "AT_ONCE", 2)
    text_search.follow()
    assert text_search.missing() == {}
    assert sorted(ids("parrots")) == ["n0", "n1", "n2"] and ids("parrots", "vera") == []


def test_with_too_long_unindexed_texts_the_search_uses_the_lists(
    cast: Cast, kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    text_search.follow()
    kind.make(cast.alice, "live", "about parrots " + "é" * 60, autoPublish=True)
    kind.save(cast.edgar, "live", "about parrots")
    monkeypatch.setattr(text_search, "MAX_BYTES_BEHIND", 130)  # in UTF-8 each é is two
    assert text_search.missing() is None
    assert ids("parrots") == ["live"] and ids("parrots", "vera") == ["live"]
    monkeypatch.setattr(text_search, "MAX_BYTES_BEHIND", 300)
    assert list((text_search.missing() or {}).values()) == [{"live"}]
    assert ids("parrots") == ["live"]
    text_search.follow()
    assert text_search.missing() == {} and ids("parrots") == ["live"]


def test_only_latest_and_published_versions_stay_in_the_index(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice, autoPublish=True)
    for number in range(5):
        kind.save(cast.alice, text=f"text {number}")
        text_search.follow()
    model = get_editor().agent.model if kind is AGENTS else PromptBlock
    assert model.document_model.objects.count() == 2
    assert cast.alice.delete(kind.url("writer")).status == 200
    text_search.follow()
    assert model.document_model.objects.count() == 0


def test_changes_without_an_entry_in_the_log_are_found(cast: Cast, follow: Follow) -> None:
    PROMPT_BLOCKS.make(cast.edgar, "new", "about parrots")
    record = PromptBlock.objects.get(pk="new")
    follow()
    unguard(PromptBlock.objects.filter(pk="new")).update(active_version_id=record.latest_version_id)
    assert ids("parrots", "vera") == ["new"]
    follow()
    assert ids("parrots", "vera") == ["new"] and SearchProgress.objects.get().position <= events.position()


def test_an_index_ahead_of_the_log_is_compared_with_the_resources(cast: Cast) -> None:
    PROMPT_BLOCKS.make(cast.edgar, "new", "about parrots")
    text_search.follow()
    SearchProgress.objects.update(position=events.position() + 10)
    PROMPT_BLOCKS.save(cast.edgar, "new", "about herons")
    assert ids("herons") == ["new"]
    text_search.follow()
    assert SearchProgress.objects.get().position == events.position() and text_search.missing() == {}


def test_the_index_copes_with_a_pruned_log(cast: Cast) -> None:
    text_search.follow()
    PROMPT_BLOCKS.make(cast.edgar, "new", "about parrots")
    events.prune(timezone.now())
    assert ids("parrots") == ["new"]
    text_search.follow()
    assert ids("parrots") == ["new"] and indexed() == {"new"}


def test_the_index_can_be_rebuilt(cast: Cast, capsys: pytest.CaptureFixture[str]) -> None:
    PROMPT_BLOCKS.make(cast.edgar, "new", "about parrots")
    text_search.follow()
    with connection.cursor() as cursor:
        cursor.execute(f"DELETE FROM {PromptBlock.document_model._meta.db_table}")
    assert search("parrots").is_inside
    call_command("rebuild_search_index")
    assert not search("parrots").is_inside and ids("parrots") == ["new"]
    assert "1 versions" in capsys.readouterr().out


def test_the_application_finds_everything(cast: Cast, follow: Follow) -> None:
    for api, workspace in ((cast.edgar, "acme"), (cast.charlie, "elsewhere")):
        PROMPT_BLOCKS.make(api, f"of-{workspace}", "parrots", workspaceId=workspace)
    follow()
    catalogs = [Catalog(get_editor().collection(kind), by=APPLICATION) for kind in KINDS]
    assert TextSearch(catalogs, "parrots").counts == {"agent": 0, "promptBlock": 2, "scorer": 0}


def test_two_workers_that_compare_concurrently_omit_nothing(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(6):
        PROMPT_BLOCKS.make(cast.edgar, f"n{number}", "parrots")
    monkeypatch.setattr(text_search, "AT_ONCE", 2)
    look = text_search._not_indexed

    def look_after_another_worker_was_faster(limit: int) -> text_search.Missing:
        found = look(limit)
        monkeypatch.setattr(text_search, "_not_indexed", look)
        text_search._compare_some()
        return found

    monkeypatch.setattr(text_search, "_not_indexed", look_after_another_worker_was_faster)
    text_search._compare_some()
    assert not SearchProgress.objects.get().is_whole
    text_search.follow()
    assert len(indexed()) == 6 and text_search.missing() == {}


def test_a_worker_ends_where_a_version_is_missing(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    PROMPT_BLOCKS.make(cast.edgar, "lost", "parrots")
    monkeypatch.setattr(text_search, "AT_ONCE", 1)
    monkeypatch.setattr(text_search, "_new_documents", lambda _model, _wanted: iter(()))
    text_search.follow()
    assert SearchProgress.objects.get().is_whole
