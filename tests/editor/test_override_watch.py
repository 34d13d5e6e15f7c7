"""Override files that are changed outside the editor are logged within seconds, once, and marked as late."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.api import AGENTS, Api
from tests.support.override_files import Repository, define, repository
from tests.support.people import key_of, person
from versioning.domain.access import Role
from versioning.models import KnownOverride
from versioning.models.log import Event
from versioning.sources import files
from versioning.sources.files import OverrideFiles
from versioning.worker.housekeeping import OverrideWatch

URL = AGENTS.url("answers")


@pytest.fixture
def repo(tmp_path: Path, settings: Any) -> Repository:
    """A repository with nothing in it."""
    made = repository(tmp_path / "project")
    define(settings, made.root)
    return made


@pytest.fixture
def admin(db: None) -> Api:
    """An admin of the workspace of the code."""
    person("ada", default=Role.ADMIN)
    return key_of("ada")


@pytest.fixture
def watch(repo: Repository, admin: Api) -> OverrideWatch:
    """A worker that has seen the files before any change."""
    made = OverrideWatch()
    made.look()
    assert noticed() == []
    return made


def events() -> list[Event]:
    about_publishing = ["agent.published", "agent.unpublished"]
    return list(Event.objects.filter(type__in=about_publishing).order_by("position"))


def noticed() -> list[str]:
    """Return the types of the noticed events, in order."""
    return [event.type for event in events() if event.via == "file"]


def published(api: Api) -> Any:
    return api.get(URL).body["activeVersionId"]


def test_a_file_that_is_written_by_hand_is_noticed(
    watch: OverrideWatch, repo: Repository, admin: Api
) -> None:
    repo.put({"instructions": "by hand"})
    watch.look()
    [event] = events()
    assert (event.type, event.via, event.actor, event.key_prefix) == ("agent.published", "file", "", "")
    assert (event.resource_kind, event.resource_id, event.workspace_id) == ("agent", "answers", "default")
    assert event.version_id == published(admin)
    assert event.version_id.startswith("file-")
    assert (event.previous_version_id, event.detail) == ("", {"noticedLate": True})


def test_every_change_is_noticed_once_with_several_workers_and_after_restarts(
    watch: OverrideWatch, repo: Repository
) -> None:
    other = OverrideWatch()
    for text in ("one", "two", "one"):
        repo.put({"instructions": text})
        for worker in (watch, other, OverrideWatch(), watch):
            worker.look()
    repo.path().unlink()
    for worker in (OverrideWatch(), other, watch):
        worker.look()
    assert noticed() == ["agent.published"] * 3 + ["agent.unpublished"]
    ids = [event.version_id for event in events()]
    assert [event.previous_version_id for event in events()] == ["", *ids[:3]]


def test_a_commit_or_checkout_is_logged_with_the_version_that_is_then_live(
    watch: OverrideWatch, repo: Repository, admin: Api
) -> None:
    repo.put({"instructions": "one"})
    watch.look()
    first = repo.commit("One")
    repo.put({"instructions": "two"})
    second = repo.commit("Two")
    watch.look()
    repo.git("checkout", "--quiet", "HEAD~1")
    watch.look()
    assert published(admin) == first
    assert [event.version_id for event in events()[1:]] == [second, first]
    assert [event.previous_version_id for event in events()[1:]] == [first, second]


def test_changes_without_effect_are_not_noticed(watch: OverrideWatch, repo: Repository) -> None:
    repo.put({"instructions": "one"})
    watch.look()
    repo.put(b'{\n  "instructions":   "one"\n}\n')
    watch.look()
    repo.commit("Commit what is live")
    OverrideWatch().look()
    assert noticed() == ["agent.published"]


def test_an_invalid_file_is_noticed_as_unpublished(watch: OverrideWatch, repo: Repository) -> None:
    repo.put({"instructions": "one"})
    watch.look()
    repo.put(b"{ half of it")
    watch.look()
    repo.put({"instructions": "two"})
    watch.look()
    assert noticed() == ["agent.published", "agent.unpublished", "agent.published"]


def test_publications_by_the_editor_are_not_noticed_as_changes_by_hand(
    watch: OverrideWatch, repo: Repository, admin: Api
) -> None:
    assert (
        admin.post(AGENTS.path, {"id": "answers", "instructions": "one", "autoPublish": True}).status == 201
    )
    watch.look()
    assert admin.patch(URL, {"instructions": "two", "autoPublish": True}).status == 200
    OverrideWatch().look()
    assert admin.post(f"{URL}/unpublish").status == 200
    watch.look()
    assert admin.patch(URL, {"instructions": "three", "autoPublish": True}).status == 200
    assert admin.delete(URL).status == 200
    watch.look()
    OverrideWatch().look()
    assert noticed() == []
    repo.put({"instructions": "by hand"})
    watch.look()
    assert noticed() == ["agent.published"]


def test_a_publication_that_is_rolled_back_is_not_noticed(
    watch: OverrideWatch, repo: Repository, admin: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.put({"instructions": "one"})
    watch.look()

    @contextmanager
    def failing(self: OverrideFiles, *given: Any, **named: Any) -> Iterator[None]:
        with replacing(self, *given, **named):
            if given:
                raise OSError("what comes after the file fails")
            yield

    replacing = OverrideFiles.replacing
    monkeypatch.setattr(OverrideFiles, "replacing", failing)
    assert admin.patch(URL, {"instructions": "two", "autoPublish": True}).status == 500
    watch.look()
    OverrideWatch().look()
    assert noticed() == ["agent.published"]


def test_publications_from_before_the_first_worker_are_not_noticed_as_new(
    repo: Repository, admin: Api
) -> None:
    body = {"id": "answers", "instructions": "one", "autoPublish": True}
    assert admin.post(AGENTS.path, body).status == 201
    KnownOverride.objects.all().delete()  # as after an update from a release without the log
    OverrideWatch().look()
    assert noticed() == []
    KnownOverride.objects.all().delete()
    repo.put({"instructions": "by hand"})
    OverrideWatch().look()
    [event] = [event for event in events() if event.via == "file"]
    assert event.previous_version_id != ""


def test_a_file_that_was_deployed_before_the_first_look_is_noticed(repo: Repository, admin: Api) -> None:
    repo.put({"instructions": "deployed with the code"})
    OverrideWatch().look()
    OverrideWatch().look()
    assert noticed() == ["agent.published"]


def test_overrides_in_rows_are_not_watched(tmp_path: Path, settings: Any, admin: Api) -> None:
    made = repository(tmp_path / "project")
    define(settings, made.root, source="database")
    made.put({"instructions": "by hand"})
    OverrideWatch().look()
    assert noticed() == []


def test_checking_unchanged_files_needs_no_database_query(
    watch: OverrideWatch, repo: Repository, monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: Any
) -> None:
    monkeypatch.setattr(files, "SETTLED_AFTER", -1)
    repo.put({"instructions": "one"})
    watch.look()
    with django_assert_num_queries(0):
        watch.look()
