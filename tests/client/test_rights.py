"""What is held belongs to an installation and rights, not to one key: outages, new keys, changed rights."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from editor_client import Forbidden, NotFound, Unauthorized, Unreachable

from tests.conftest import Cast
from tests.support.api import AGENTS, Api
from tests.support.in_process import MODES, InProcess, in_process
from tests.support.people import command, give_role, key_of
from tests.support.served import published_agent

GREETING = [{"type": "prompt_block", "content": "Hi {{ name }}."}]
every_mode = pytest.mark.parametrize("updates", MODES)


@pytest.fixture
def way(cast: Cast) -> Iterator[InProcess]:
    """Two agents, and a way to them."""
    for agent_id in ("writer", "greeter"):
        published_agent(cast.alice, agent_id, GREETING)
    with in_process() as way:
        yield way


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def greeting(client: Any, name: str, agent_id: str = "greeter", **selector: str) -> tuple[str | None, bool]:
    """Return what an agent says in a context of its own, and whether it is stale."""
    found = client.get_agent(agent_id, **selector).details(request_context={"name": name})
    return found.instructions, found.stale


def read_both(client: Any) -> None:
    for agent_id in ("writer", "greeter"):
        assert greeting(client, "ann", agent_id) == ("Hi ann.", False)


@every_mode
def test_an_agent_that_is_held_answers_in_any_context_while_the_server_is_away(
    cast: Cast, way: InProcess, folder: Path, updates: str
) -> None:
    client = way.client(cast.vera, updates, cache_dir=folder)
    read_both(client)
    way.is_cut = True
    assert greeting(client, "bob")[0] == "Hi bob."
    assert greeting(way.client(cast.vera, updates, cache_dir=folder), "cy") == ("Hi cy.", True)
    with pytest.raises(Unreachable):
        greeting(client, "bob", label="latest")


@every_mode
def test_a_new_key_takes_over_what_is_held_once_it_was_answered(
    cast: Cast, way: InProcess, folder: Path, updates: str
) -> None:
    read_both(way.client(cast.vera, updates, cache_dir=folder))
    new = key_of("vera")
    way.is_cut = True
    with pytest.raises(Unreachable):
        greeting(way.client(new, updates, cache_dir=folder), "bob")
    way.is_cut = False
    client = way.client(new, updates, cache_dir=folder)
    assert greeting(client, "bob", "writer") == ("Hi bob.", False)
    command("revoke_api_key", cast.vera.key)
    way.is_cut = True
    assert greeting(client, "cy")[0] == "Hi cy."
    # The installation is known by its name, not by its address.
    moved = way.client(new, updates, "http://moved.test", cache_dir=folder)
    assert greeting(moved, "dan") == ("Hi dan.", True)
    other = way.client(cast.edgar, updates, cache_dir=folder)
    way.is_cut = False
    assert other.list_stored_agents().total == 2  # answered, with other rights
    way.is_cut = True
    with pytest.raises(Unreachable):
        greeting(other, "eve")


def test_what_a_new_key_takes_over_is_not_transferred_again(
    cast: Cast, way: InProcess, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_both(way.client(cast.vera, cache_dir=folder))
    client = way.client(key_of("vera"), cache_dir=folder)
    greeting(client, "bob", "writer")
    statuses = []
    request = Api.request

    def noted(*arguments: Any, **named: Any) -> Any:
        answer = request(*arguments, **named)
        statuses.append(answer.status)
        return answer

    monkeypatch.setattr(Api, "request", noted)
    assert greeting(client, "bob") == ("Hi bob.", False)
    assert statuses == [304]


@every_mode
def test_a_refused_key_forgets_for_itself_alone(
    cast: Cast, way: InProcess, folder: Path, updates: str
) -> None:
    old, new = cast.vera, key_of("vera")
    clients = {api.key: way.client(api, updates, cache_dir=folder) for api in (old, new)}
    read_both(clients[old.key])
    greeting(clients[new.key], "bob", "writer")
    command("revoke_api_key", old.key)
    with pytest.raises(Unauthorized):
        clients[old.key].list_stored_agents()
    way.is_cut = True
    for client in (clients[old.key], way.client(old, updates, cache_dir=folder)):
        with pytest.raises(Unreachable):
            greeting(client, "cy")
    for client in (clients[new.key], way.client(new, updates, cache_dir=folder)):
        assert greeting(client, "cy")[0] == "Hi cy."


@every_mode
def test_changed_rights_leave_nothing_that_was_read_with_others(
    cast: Cast, way: InProcess, folder: Path, updates: str
) -> None:
    client = way.client(cast.edgar, updates, cache_dir=folder)
    read_both(client)
    AGENTS.save(cast.alice, "greeter", "Not yet.")
    assert greeting(client, "bob", status="draft") == ("Not yet.", False)
    give_role("edgar", "acme", "viewer")
    assert client.list_agents().keys() == {"writer", "greeter"}
    way.asked.clear()
    assert greeting(client, "bob", "writer") == ("Hi bob.", False)
    assert len(way.asked) == 1  # what is held for others is not asked about
    with pytest.raises(Forbidden):
        greeting(client, "bob", label="latest")
    way.is_cut = True
    assert greeting(client, "cy", "writer")[0] == "Hi cy."
    for reader in (client, way.client(cast.edgar, updates, cache_dir=folder)):
        with pytest.raises(Unreachable):
            greeting(reader, "cy", status="draft")


def test_an_answer_that_is_unchanged_for_other_rights_is_read_again(cast: Cast, way: InProcess) -> None:
    client = way.client(cast.edgar)
    read_both(client)
    give_role("edgar", "acme", "viewer")
    way.asked.clear()
    assert greeting(client, "bob") == ("Hi bob.", False)
    assert len(way.asked) == 2  # the second without an entity tag
    way.is_cut = True
    assert greeting(client, "cy") == ("Hi cy.", True)


def test_a_refusal_removes_what_is_held_for_all_keys_with_these_rights(
    cast: Cast, way: InProcess, folder: Path
) -> None:
    old, new = cast.vera, key_of("vera")
    clients = [way.client(api, cache_dir=folder) for api in (old, new)]
    for client in clients:
        read_both(client)
    assert cast.alice.delete(AGENTS.url("greeter")).status == 200
    with pytest.raises(NotFound):
        greeting(clients[0], "bob")
    way.is_cut = True
    with pytest.raises(Unreachable):
        greeting(way.client(new, cache_dir=folder), "bob")


def test_records_are_held_for_one_key_because_they_name_favorites(
    cast: Cast, way: InProcess, folder: Path
) -> None:
    vera, other = way.client(cast.vera, cache_dir=folder), way.client(key_of("vera"), cache_dir=folder)
    vera.get_stored_agent("writer").favorite()
    assert vera.get_stored_agent("writer").details().is_favorited
    greeting(other, "bob")
    way.is_cut = True
    assert way.client(cast.vera, cache_dir=folder).get_stored_agent("writer").details().stale
    with pytest.raises(Unreachable):
        other.get_stored_agent("writer").details()


def test_a_damaged_file_of_rights_grants_nothing(cast: Cast, way: InProcess, folder: Path) -> None:
    read_both(way.client(cast.vera, cache_dir=folder))
    (file,) = folder.rglob("rights")
    whole = file.read_text()
    way.is_cut = True
    for damaged in ("", "[]", whole[:-9], whole.replace('"rights":"', '"rights":"a')):
        file.write_text(damaged)
        with pytest.raises(Unreachable):
            greeting(way.client(cast.vera, cache_dir=folder), "bob")
    assert cast.vera.key not in whole
