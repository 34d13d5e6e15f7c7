"""The studio with overrides as files: the same pages, whether the studio or a person wrote the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.api import AGENTS, Api
from tests.support.gates import make_gate, make_scored_dataset
from tests.support.override_files import Repository, define, repository
from tests.support.people import key_of, person
from tests.support.studio import Visitor, page_of, workspace_page
from versioning.domain.access import Role

HOME = "/studio/"
LIST = "/studio/versioning/agent/"


@pytest.fixture
def repo(tmp_path: Path, settings: Any) -> Repository:
    """A repository with two commits of the override of `answers`."""
    made = repository(tmp_path)
    define(settings, made.root)
    for second, text in enumerate(["first words", "second words"]):
        made.put({"instructions": text})
        made.commit(f"Say {text}", at=f"2026-01-01T12:00:0{second}Z")
    return made


@pytest.fixture
def api(db: None) -> Api:
    """The API of ada, an admin of the workspace of the code; ed and vic are there too."""
    for name, role in {"ada": Role.ADMIN, "ed": Role.EDITOR, "vic": Role.VIEWER}.items():
        person(name, default=role)
    return key_of("ada")


def page(name: str) -> str:
    return page_of(AGENTS, name, "answers")


def commits(api: Api) -> list[str]:
    return [version["id"] for version in AGENTS.versions(api, "answers") if version["source"] == "git"]


def chips(visitor: Visitor) -> dict[str, tuple[str, str]]:
    rows = visitor.get(LIST).context["rows"]
    return {row.entry.id: (str(row.summary.state.word), str(row.summary.origin)) for row in rows}


def test_the_list_shows_which_overrides_are_in_git(api: Api, repo: Repository) -> None:
    ada = Visitor("ada")
    assert chips(ada) == {"answers": ("Published", "Git"), "team/lead": ("Published", "code")}
    AGENTS.save(api, "answers", "draft")
    assert chips(ada)["answers"] == ("Unpublished changes", "Git")
    assert chips(Visitor("vic"))["answers"] == ("Published", "Git")
    repo.path().unlink()
    assert chips(ada)["answers"] == ("Unpublished changes", "code")


def test_since_when_a_commit_is_live_is_not_guessed(api: Api, repo: Repository) -> None:
    ed = Visitor("ed")
    answer = ed.get(page("history"))
    live = [[one.words for one in item.live] for item in answer.context["items"]]
    assert live == [["live now"], []]
    assert "is not known: the log has nothing older." in answer.words
    newest, older = answer.context["items"]
    for item in (newest, older):
        assert {"version", "restore", "publish", "download"} <= {
            name for name, to in item.links.items() if to
        }
    assert not older.links["with_previous"] and not newest.may_delete
    before, after = ed.get(newest.links["with_previous"]).context["sides"]
    assert (before.title, after.title) == (older.entry.title, newest.entry.title)
    assert len(ed.get(page("history"), author="Ann Author").context["items"]) == 2
    assert len(ed.get(page("history"), published="on").context["items"]) == 1


def test_a_commit_is_never_called_by_a_number_that_a_version_has_too(api: Api, repo: Repository) -> None:
    ada, newest = Visitor("ada"), f"Git {commits(api)[0][4:11]}"
    draft = AGENTS.save(api, "answers", "draft")["resolvedVersionId"]
    told = [ada.get(page(name)).words for name in ("change", "history", "publish", "compare", "try")]
    assert all(newest in words and "version 1" in words.lower() for words in told)
    assert not any("Version 2" in words or "ersion 0" in words for words in told)
    api.post(AGENTS.url("answers", "versions", commits(api)[1], "restore"))
    api.post(AGENTS.url("answers", "versions", draft, "activate"))
    api.post(AGENTS.url("answers", "versions", commits(api)[1], "activate"))
    told = ada.get(workspace_page("activity", "default")).words
    older = f"Git {commits(api)[1][4:11]}"
    assert f"restored {older} as draft 2 of agent Answers" in told
    assert f"published {older} of agent Answers in place of version 1" in told
    assert "git-" not in told


def test_a_row_shows_the_subject_of_a_commit_and_its_page_the_whole_message(
    api: Api, repo: Repository
) -> None:
    repo.put({"instructions": "third words"})
    commit = repo.commit("Say it shorter\n\nBecause no one reads it.\n\nReviewed-by: Rita\n\n")
    (version,) = [one for one in AGENTS.versions(api, "answers") if one["id"] == commit]
    assert version["changeMessage"] == "Say it shorter\n\nBecause no one reads it.\n\nReviewed-by: Rita"
    ada = Visitor("ada")
    for address in (page("history"), HOME, page("compare"), page("publish")):
        words = ada.get(address).words
        assert "no one reads" not in words, address
        assert "Say it shorter" in words or address != page("history")
    words = ada.get(page(f"versions/{commit}")).words
    assert "Say it shorter Because no one reads it. Reviewed-by: Rita" in words


def test_a_commit_offers_no_edit_and_no_deletion(api: Api, repo: Repository) -> None:
    answer = Visitor("ada").get(page(f"versions/{commits(api)[1]}"))
    words = answer.words
    assert "first words" in words and "It is kept in Git" in words
    assert "Delete this version" not in words and "Set or move a label" not in words
    assert "Restore as a draft" in words and "Publish this version" in words


def test_a_commit_is_published_after_its_difference_was_shown(api: Api, repo: Repository) -> None:
    ada, commit = Visitor("ada"), commits(api)[1]
    shown = ada.get(page("publish"), version=commit)
    assert "first" in shown.words and "second" in shown.words
    ada.post(page("publish"), version=commit, tag=shown.field("tag"))
    assert repo.text() == '{\n  "instructions": "first words"\n}\n'


def test_the_edit_page_starts_from_the_file_and_refuses_a_stale_save(api: Api, repo: Repository) -> None:
    ed = Visitor("ed")
    shown = ed.get(page("change"))
    assert "second words" in shown.markup
    repo.put({"instructions": "by hand"})
    refused = ed.post(page("change"), {"tag": shown.field("tag"), "base": commits(api)[0]})
    assert refused.status == 409
    assert "by hand" in refused.markup


def test_any_version_can_be_downloaded_as_an_override_file(api: Api, repo: Repository) -> None:
    draft = AGENTS.save(api, "answers", "draft")["resolvedVersionId"]
    answer = Visitor("ed").get(page(f"versions/{draft}/download"))
    assert answer.content == b'{\n  "instructions": "draft"\n}\n'
    assert answer.headers["Content-Disposition"] == 'attachment; filename="answers.json"'
    assert Visitor("vic").get(page(f"versions/{draft}/download")).status == 403


@pytest.mark.parametrize("name", ["unpublish", "delete"])
def test_the_confirmation_before_removing_a_file_names_dependents(
    api: Api, repo: Repository, name: str
) -> None:
    ada = Visitor("ada")
    shown = ada.get(page(name))
    assert "Lead" in shown.words
    ada.post(page(name), tag=shown.field("tag"), **({"typed_id": "answers"} if name == "delete" else {}))
    assert not repo.path().exists()


def test_commits_are_shown_and_published_where_there_is_a_gate(api: Api, repo: Repository) -> None:
    person("gina", acme="admin")
    elsewhere = key_of("gina")
    make_gate(elsewhere, make_scored_dataset(elsewhere), agent=None, rules=[{"rule": "passRate", "min": 0.5}])
    for address in ("history", "publish", f"versions/{commits(api)[1]}"):
        assert Visitor("ada").get(page(address)).status == 200, address
    url = AGENTS.url("answers", "versions", commits(api)[1], "activate")
    assert api.post(url).status == 200


def test_a_viewer_sees_no_commit(api: Api, repo: Repository) -> None:
    vic, (newest, older) = Visitor("vic"), commits(api)
    for hidden in ("history", "compare", f"versions/{older}"):
        assert vic.get(page(hidden)).status == 403
    for shown in ("change", f"versions/{newest}"):
        assert "second words" in vic.get(page(shown)).markup
