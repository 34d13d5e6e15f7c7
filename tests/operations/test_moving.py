"""From SQLite to PostgreSQL, by the commands of the page: every row, and work goes on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.api import AGENTS, PROMPT_BLOCKS, Kind
from tests.support.calls import PUBLISHED_WORDS, make_history
from tests.support.installation import SET_UP, SQLITE, Installation, installation
from tests.support.pages import ADMINISTRATION, commands
from tests.support.remote import RemoteApi, connected
from tests.support.writing import DELICATE

pytestmark = [
    pytest.mark.database,
    pytest.mark.skipif(SQLITE, reason="It moves to PostgreSQL, which only `make test-postgres` starts."),
]

DUMP, LOAD = commands(ADMINISTRATION, "From SQLite to PostgreSQL")
KINDS = (AGENTS, PROMPT_BLOCKS)


@pytest.fixture(scope="module")
def old_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """An installation on SQLite that has been in use."""
    folder = tmp_path_factory.mktemp("moving") / "old"
    with installation(folder, DATABASE_URL=f"sqlite:///{folder}/var/editor.sqlite3") as old:
        old.service.key = old.python(SET_UP)
        old.service.start()
        with connected(old.service) as api:
            metadata = {"n": 1.5, "big": 2**60, "text": DELICATE, "list": [None, True]}
            for kind in KINDS:
                make_history(kind, api, "writer", metadata=metadata)
                kind.make(api, "away", DELICATE)
            instructions = [{"type": "prompt_block_ref", "id": "writer"}]
            AGENTS.make(api, "lead", instructions, agents={"writer": {}}, autoPublish=True)
            assert api.get("/agents/lead").status == 200
        yield old


@pytest.fixture(scope="module")
def moved(old_service: Installation) -> Path:
    """The file that carries everything over."""
    old_service.run(DUMP)
    return old_service.folder / "editor.jsonl"


@pytest.fixture
def new_service(tmp_path: Path) -> Iterator[Installation]:
    """An empty PostgreSQL."""
    with installation(tmp_path / "new") as new:
        yield new


def answers(api: RemoteApi) -> dict[str, Any]:
    """Return what is served, and the history of it."""
    paths = ["/agents", f"{AGENTS.path}?status=all", PROMPT_BLOCKS.path, "/agents/lead", "/agents/writer"]
    for kind in KINDS:
        for resource_id in ("writer", "away"):
            rest = ("versions", "labels", "dependents")
            paths += [kind.url(resource_id), f"{kind.url(resource_id)}?status=draft"]
            paths += [kind.url(resource_id, part) for part in rest]
    found = {path: api.get(path) for path in paths}
    return {path: (answer.status, answer.body, answer.headers["ETag"]) for path, answer in found.items()}


def lines(file: Path) -> tuple[list[Any], tuple[int, int]]:
    """Return the rows of a dump; and where its log is, and where the newest change of rights."""
    with file.open() as rows:
        found = [json.loads(row) for row in rows]
    [log] = [row for row in found if row["model"] == "versioning.logposition"]
    return found, (log["fields"].pop("position"), log["fields"].pop("rights_position"))


def test_everything_moves_and_work_goes_on(
    old_service: Installation, moved: Path, new_service: Installation
) -> None:
    with connected(old_service.service) as api:
        before = answers(api)
    (new_service.folder / moved.name).write_bytes(moved.read_bytes())
    new_service.run(LOAD)

    (new_service.folder / moved.name).unlink()
    new_service.run(DUMP)
    (rows, positions), (old_rows, old_positions) = lines(new_service.folder / moved.name), lines(moved)
    assert rows == old_rows
    # The log moves for whoever follows it while rows are loaded.
    assert all(new >= old for new, old in zip(positions, old_positions, strict=True))

    new_service.service.key = old_service.service.key
    new_service.service.start()
    with connected(new_service.service) as api:
        assert answers(api) == before
        for kind in KINDS:
            go_on(api, kind)


def go_on(api: RemoteApi, kind: Kind) -> None:
    """Do what needs a new number, a new row and an old pointer."""
    assert api.get(kind.url("writer")).body[kind.text] == PUBLISHED_WORDS
    newest = kind.versions(api)[0]["versionNumber"]
    saved = kind.save(api, "writer", "after the move", autoPublish=True)["latestVersionId"]
    assert kind.versions(api)[0]["versionNumber"] == newest + 1
    assert api.put(kind.url("writer", "labels", "moved"), {"versionId": saved}).status == 200
    # The pointers are guarded here as they were there.
    assert api.delete(kind.url("writer", "versions", saved)).status == 400


def test_a_move_that_breaks_off_leaves_nothing_behind(moved: Path, new_service: Installation) -> None:
    whole = moved.read_text()
    (new_service.folder / moved.name).write_text(whole[: len(whole) // 2])
    with pytest.raises(AssertionError, match=r"editor\.jsonl"):
        new_service.run(LOAD)
    left = "from versioning.models import *; print(Agent.objects.count() + Event.objects.count())"
    assert new_service.python(left) == "0"
