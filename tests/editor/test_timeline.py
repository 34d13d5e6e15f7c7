"""All versions in chronological order, whether stored as rows or commits, in pages."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils import timezone

from tests.conftest import Cast
from tests.support.api import AGENTS
from versioning.domain.snapshots import VersionPointers, version_title
from versioning.editor.timeline import Timeline, find_previous
from versioning.models import Agent
from versioning.models.guarded import unguard

NOW = timezone.now()


@dataclass(frozen=True)
class Commit:
    """A version that is stored in Git."""

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


def agent_with(cast: Cast, rows: int) -> Agent:
    """Return an agent with a row each hour."""
    AGENTS.make(cast.alice)
    for _ in range(rows - 1):
        cast.alice.post(AGENTS.url("writer", "versions"))
    agent = Agent.objects.get(pk="writer")
    for row in agent.versions.all():
        moment = NOW + datetime.timedelta(hours=row.number)
        unguard(agent.versions.filter(pk=row.pk)).update(created_at=moment)
    return agent


def with_commits(agent: Agent, commits: Sequence[int]) -> Timeline:
    """Return the timeline of an agent with commits half an hour after the named rows."""
    outside = [
        Commit(f"git-{after:040x}", NOW + datetime.timedelta(hours=after, minutes=30))
        for after in sorted(commits, reverse=True)
    ]
    latest = agent.versions.all()[0]
    agent.pointers = VersionPointers(active=None, latest=latest, base=latest, from_git=outside)
    return Timeline(agent, agent.versions.select_related("author"))


def test_every_version_is_listed_once_and_in_order(cast: Cast) -> None:
    agent = agent_with(cast, 6)
    for commits in ([], [0], [6], [0, 1, 3, 6], [0, 2, 4], [7, 8, 9, 10], range(12)):
        timeline = with_commits(agent, commits)
        everything = [*agent.versions.all(), *(agent.pointers.from_git if agent.pointers else ())]
        expected = sorted(everything, key=lambda version: version.created_at, reverse=True)
        ids = [version.version_id for version in expected]
        assert len(timeline) == len(expected)
        for per_page in (1, 2, 3, 5, 100):
            pages = [timeline[start : start + per_page] for start in range(0, len(expected), per_page)]
            entries = [entry for page in pages for entry in page]
            assert [entry.version.version_id for entry in entries] == ids
            previous = [entry.previous.version_id if entry.previous else None for entry in entries]
            assert previous == [*ids[1:], None]


def test_the_previous_version_is_the_chronologically_previous_one(cast: Cast) -> None:
    agent = agent_with(cast, 3)
    entries = with_commits(agent, [1, 2])[0:10]
    for entry in entries:
        found = find_previous(agent, entry.version)
        assert (found and found.version_id) == (entry.previous and entry.previous.version_id)
    titles = ["Version 3", "Git 0000000", "Version 2", "Git 0000000", "Version 1"]
    assert [entry.title for entry in entries] == titles
    assert version_title(Commit("file-0123456789ab", NOW, source="file")) == "File"
