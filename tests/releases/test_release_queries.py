"""Lists of releases take the same number of statements for any number of releases."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from capabilities.releases.items import read_ahead
from capabilities.releases.models import ReleaseItem
from capabilities.releases.rules import ReleaseBlocked
from capabilities.releases.verbs import Releases
from tests.conftest import Cast
from tests.releases.conftest import Pair, item, live, make, publish
from tests.support.api import AGENTS, PROMPT_BLOCKS
from versioning.conf import get_editor
from versioning.domain.access import APPLICATION
from versioning.models import LogPosition
from versioning.models.agents import PromptBlockVersion
from versioning.models.guarded import unguard


def test_a_list_takes_as_many_statements_for_many_releases_as_for_some(cast: Cast, pair: Pair) -> None:
    counts = []
    for more in (range(5), range(5, 10)):  # for few items, the lengths are not queried first
        for number in more:
            AGENTS.make(cast.alice, f"agent-{number}")
            PROMPT_BLOCKS.make(cast.alice, f"block-{number}")
            items = [item(AGENTS, f"agent-{number}"), item(PROMPT_BLOCKS, f"block-{number}")]
            make(cast.edgar, *pair.items(), *items)
        cast.edgar.get("/releases")
        with CaptureQueriesContext(connection) as asked:
            answer = cast.edgar.get("/releases")
        assert answer.status == 200
        counts.append(len(asked.captured_queries))
    assert counts[0] == counts[1] > 0, counts


def test_pinning_versions_takes_as_many_statements_for_many_items_as_for_two(cast: Cast, pair: Pair) -> None:
    items = [*pair.items()]
    counts = []
    for more in (0, 6):
        for number in range(more):
            AGENTS.make(cast.alice, f"agent-{number}")
            items.append(item(AGENTS, f"agent-{number}"))
        with CaptureQueriesContext(connection) as asked:
            make(cast.edgar, *items)
        counts.append(len(asked.captured_queries))
    assert counts[0] == counts[1] > 0, counts


def test_checking_takes_as_many_statements_for_many_items_that_unpublish_as_for_two(
    cast: Cast, pair: Pair
) -> None:
    items: list[dict[str, object]] = []
    counts = []
    for more in (range(2), range(2, 8)):
        for number in more:
            AGENTS.make(cast.alice, f"agent-{number}", autoPublish=True)
            items.append(item(AGENTS, f"agent-{number}", action="unpublish"))
        release = make(cast.alice, *items)
        url = f"/releases/{release['id']}/check"
        cast.alice.get(url)
        with CaptureQueriesContext(connection) as asked:
            assert cast.alice.get(url).body["ok"] is True
        counts.append(len(asked.captured_queries))
    assert counts[0] == counts[1] > 0, counts


def test_configurations_are_read_once_per_kind_and_before_any_lock(cast: Cast, pair: Pair) -> None:
    release = make(cast.alice, *pair.items())
    rights = LogPosition.objects.get().rights_position
    with CaptureQueriesContext(connection) as asked:
        assert publish(cast.alice, release).status == 200
    statements = [one["sql"] or "" for one in asked.captured_queries]  # a prepared cursor may tell none
    reading = [place for place, sql in enumerate(statements) if 'config_json"' in sql and "SELECT" in sql]
    first_row = next(place for place, sql in enumerate(statements) if '"versioning_agent"."id"' in sql)
    assert len(reading) == 2, [statements[place] for place in reading]
    assert max(reading) < first_row
    assert LogPosition.objects.get().rights_position == rights


def test_changes_of_versions_after_they_were_read_count(cast: Cast, pair: Pair) -> None:
    release, editor = make(cast.alice, *pair.items()), get_editor()
    ahead = read_ahead(editor, ReleaseItem.objects.filter(release=release["id"]))
    PROMPT_BLOCKS.save(cast.edgar, "tone", "newer")
    unguard(PromptBlockVersion.objects.filter(pk=pair.new["tone"])).delete()
    with pytest.raises(ReleaseBlocked) as refusal:
        editor.capability(Releases).publish(release["id"], versions=ahead, by=APPLICATION)
    assert [one.code for one in refusal.value.problems] == ["gone"]
    other = make(cast.alice, *pair.items("old"))
    editor.capability(Releases).publish(other["id"], versions={}, by=APPLICATION)
    assert live(cast.alice, AGENTS, "writer") == pair.old["writer"]
