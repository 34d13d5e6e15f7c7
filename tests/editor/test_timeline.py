"""The order of all versions in time, wherever they are kept, a page at a time."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.utils import timezone

from tests.conftest import Cast
from tests.support.api import AGENTS
from versioning.domain.snapshots import VersionPointers, title_of
from versioning.editor.timeline import Timeline, previous_of
from versioning.models import Agent

NOW = timezone.now()


@dataclass(frozen=True)
class Commit:
    """A version that Git keeps."""

    version_id: str
    created_at: datetime.datetime
    number: int = 1
    config: dict[str, Any] = field(default_factory=dict)
    digest: str = ""
    changed_fields: list[str] = field(default_factory=list)
    change_message: str = "Reword"
    author_name: str | None = "Gita"
    source: str = "git"
    read_only: bool = True


def agent_with(cast: Cast, rows: int, commits: list[int]) -> tuple[Agent, Timeline]:
    """Return an agent with a row each hour, and commits half an hour after the named ones; its timeline."""
    AGENTS.make(cast.alice)
    for _ in range(rows - 1):
        cast.alice.post(AGENTS.url("writer", "versions"))
    agent = Agent.objects.get(pk="writer")
    for row in agent.versions.all():
        agent.versions.filter(pk=row.pk).update(created_at=NOW + datetime.timedelta(hours=row.number))
    outside = [
        Commit(f"git-{after:040x}", NOW + datetime.timedelta(hours=after, minutes=30))
        for after in sorted(commits, reverse=True)
    ]
    latest = agent.versions.all()[0]
    agent.pointers = VersionPointers(active=None, latest=latest, base=latest, from_git=outside)
    return agent, Timeline(agent, agent.versions.select_related("author"))


@pytest.mark.parametrize("commits", [[], [0], [6], [0, 1, 3, 6], [0, 2, 4], [7, 8, 9, 10], list(range(12))])
@pytest.mark.parametrize("per_page", [1, 2, 3, 5, 100])
def test_every_version_stands_once_and_in_its_place(cast: Cast, commits: list[int], per_page: int) -> None:
    agent, timeline = agent_with(cast, 6, commits)
    everything = [*agent.versions.all(), *(agent.pointers.from_git if agent.pointers else ())]
    expected = sorted(everything, key=lambda version: version.created_at, reverse=True)
    assert len(timeline) == len(expected)
    pages = [timeline[start : start + per_page] for start in range(0, len(expected), per_page)]
    entries = [entry for page in pages for entry in page]
    assert [entry.version.version_id for entry in entries] == [version.version_id for version in expected]
    previous = [entry.previous.version_id if entry.previous else None for entry in entries]
    assert previous == [*(version.version_id for version in expected[1:]), None]


def test_the_version_before_is_the_one_before_in_time(cast: Cast) -> None:
    agent, timeline = agent_with(cast, 3, [1, 2])
    entries = timeline[0:10]
    for entry in entries:
        found = previous_of(agent, entry.version)
        assert (found and found.version_id) == (entry.previous and entry.previous.version_id)


def test_a_version_is_called_by_its_number_or_its_commit(cast: Cast) -> None:
    _, timeline = agent_with(cast, 1, [1])
    assert [entry.title for entry in timeline[0:2]] == ["Git 0000000", "Version 1"]
    assert title_of(Commit("file-0123456789ab", NOW, source="file")) == "File"
