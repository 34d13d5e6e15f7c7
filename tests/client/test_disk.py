"""The folder with the last good answers: its content, its permissions, and the failures that it survives."""

from __future__ import annotations

import json
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from editor_client import Client, EditorError, NotFound, Unauthorized, Unreachable
from editor_client.reads.cache import DiskCache, Rights

from tests.support.clients import Clients, with_both_clients
from tests.support.misbehaving import Misbehaving, hang_up, record, says

KEY = "ek_very_secret"
DOWN_AT_ONCE: dict[str, Any] = {"retries": 0}


def read(client: Any) -> Any:
    return client.get_stored_agent("writer").details()


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that does not exist yet."""
    return tmp_path / "deep" / "cache"


@pytest.fixture
def restarted(connect: Clients, server: Misbehaving, folder: Path) -> Callable[[], Any]:
    """An application that has read `writer` is restarted while the server is down."""
    server.does(record())
    assert not read(connect(server.url, KEY, cache_dir=folder)).stale

    def start(url: str = server.url, key: str = KEY) -> Any:
        server.does(hang_up)
        return connect(url, key, cache_dir=folder, **DOWN_AT_ONCE)

    return start


@with_both_clients
def test_a_restarted_application_has_the_last_good_answer(restarted: Callable[[], Any]) -> None:
    found = read(restarted())
    assert (found.instructions, found.stale, found.etag) == ("one", True, '"1"')


def test_a_restarted_application_tries_the_server_first(
    connect: Clients, server: Misbehaving, folder: Path, restarted: Callable[[], Any]
) -> None:
    server.does(record())
    client = connect(server.url, KEY, cache_dir=folder, max_age=1000)
    assert read(client).stale is False
    assert [one.headers.get("if-none-match") for one in server.asked] == ['"1"']
    server.does(record('"2"', instructions="two"))
    assert read(connect(server.url, KEY, cache_dir=folder, max_age=1000)).instructions == "two"
    assert read(restarted()).instructions == "two"


def test_the_folder_is_private_and_does_not_hold_the_key(restarted: Callable[[], Any], folder: Path) -> None:
    (path,) = files(folder)
    assert KEY not in str(path) + path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_neither_another_key_nor_another_server_gets_the_answer(
    restarted: Callable[..., Any], server: Misbehaving
) -> None:
    for other in ({"key": "ek_other"}, {"url": server.url.replace("127.0.0.1", "localhost")}):
        with pytest.raises(Unreachable):
            read(restarted(**other))


DAMAGES: list[Callable[[str], str]] = [
    lambda text: text[: len(text) // 2],
    lambda text: "[]",
    lambda text: text.replace("one", "two"),
    lambda text: text.replace("/stored/agents/writer", "/stored/agents/editor"),
    lambda text: json.dumps({k: v for k, v in json.loads(text).items() if k != "digest"}),
]


def test_a_damaged_file_is_ignored(restarted: Callable[[], Any], server: Misbehaving, folder: Path) -> None:
    for damage in DAMAGES:
        (path,) = files(folder)
        path.write_text(damage(path.read_text()))
        client = restarted()
        with pytest.raises(Unreachable):
            read(client)
        server.does(record(), hang_up)
        assert [read(client).stale, read(client).stale] == [False, True]
        assert read(restarted()).instructions == "one"


def test_a_refusal_removes_the_file(
    connect: Clients, server: Misbehaving, folder: Path, restarted: Callable[[], Any]
) -> None:
    for status in (401, 403, 404):
        server.does(record(), says(status))
        client = connect(server.url, KEY, cache_dir=folder)
        read(client)
        with pytest.raises(EditorError):
            read(client)
        assert files(folder) == []
        with pytest.raises(Unreachable):
            read(restarted())


def test_an_invalid_key_removes_all_its_files_and_no_others(
    connect: Clients, server: Misbehaving, folder: Path, restarted: Callable[..., Any]
) -> None:
    server.does(record())
    client = connect(server.url, KEY, cache_dir=folder)
    client.get_agent("writer").details()
    read(connect(server.url, "ek_other", cache_dir=folder))
    assert len(files(folder)) == 3
    server.does(says(401))
    with pytest.raises(EditorError):
        client.list_agents()
    assert len(files(folder)) == 1
    assert read(restarted(key="ek_other")).stale


def test_deleting_a_resource_removes_exactly_its_files(
    connect: Clients, server: Misbehaving, folder: Path
) -> None:
    client = connect(server.url, KEY, cache_dir=folder)
    server.does(record())
    client.get_stored_agent("writer").details()
    client.get_stored_agent("writer").details(status="draft")
    client.get_agent("writer").details()
    client.get_stored_prompt_block("writer").details()
    server.does(says(200, {"success": True, "message": ""}))
    client.get_stored_agent("writer").delete()
    (path,) = files(folder)
    assert "/stored/prompt-blocks/writer" in path.read_text()


def test_many_different_reads_do_not_fill_the_disk(
    connect: Clients, server: Misbehaving, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("editor_client.reads.cache.MAX_ENTRIES", 3)
    client = connect(server.url, KEY, cache_dir=folder)
    server.does(record())
    for number in range(6):
        client.get_agent("writer", label=f"l{number}").details()
        for path in files(folder):
            os.utime(path, (path.stat().st_atime, path.stat().st_mtime - 1))
    assert len(files(folder)) == 3
    server.does(hang_up)
    assert client.get_agent("writer", label="l5").details().stale


def test_a_folder_that_is_not_writable_is_no_error(
    connect: Clients, server: Misbehaving, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    server.does(record())
    assert read(connect(server.url, KEY, cache_dir=tmp_path / "file")).instructions == "one"
    assert "cannot be stored" in caplog.text


def test_a_late_answer_does_not_restore_a_refused_one(server: Misbehaving, folder: Path) -> None:
    may_answer = threading.Event()
    server.does(lambda handler: (may_answer.wait(60), record()(handler))[1], says(404), hang_up)
    with Client(server.url, api_key=KEY, cache_dir=folder, **DOWN_AT_ONCE) as client:
        early = threading.Thread(target=read, args=[client])
        early.start()
        server.wait_for(1)
        with pytest.raises(NotFound):
            read(client)
        may_answer.set()
        early.join()
        with pytest.raises(Unreachable):
            read(client)
    assert files(folder) == []


@with_both_clients
def test_the_rights_of_a_key_are_read_from_the_folder_once(
    connect: Clients, server: Misbehaving, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    rights = DiskCache.rights

    def counted(self: DiskCache) -> str:
        calls.append(self)
        return rights(self)

    monkeypatch.setattr(DiskCache, "rights", counted)
    client = connect(server.url, KEY, cache_dir=folder, **DOWN_AT_ONCE)
    server.does(record())  # this server names no rights
    for _ in range(3):
        read(client)
    server.does(says(401))
    for _ in range(3):
        with pytest.raises(Unauthorized):
            read(client)
    assert len(calls) == 1


def test_a_forked_process_reads_the_rights_that_another_process_was_told() -> None:
    rights = Rights("http://server", KEY)
    rights.recall("")
    assert rights.is_recalled
    rights.after_fork()
    assert not rights.is_recalled
    rights.note("viewer", 1)
    rights.after_fork()
    assert (rights.is_recalled, rights.name) == (True, "viewer")
    rights.note("", 2)  # the key was refused
    rights.after_fork()
    assert (rights.is_recalled, rights.name) == (True, "")
