"""The cast, and the two ways to meet the service: in this process, and as a real server.

In the workspace `acme`, alice is admin, paula publisher, edgar editor and vera viewer. charlie is
a stranger: an admin, but of `elsewhere`. root is a superuser and a member of nothing.
"""

from __future__ import annotations

import gc
import logging
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from itertools import compress
from operator import not_, or_
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connection, connections
from django.test import TestCase
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from pytest_django import DjangoDbBlocker

from capabilities.rollouts.counting import RECORDER
from tests.support import forking, machine
from tests.support.api import AGENTS, PROMPT_BLOCKS, Api, Kind
from tests.support.emptying import delete_rows
from tests.support.override_files import Folder, define
from tests.support.people import make_cast
from tests.support.service import Service, is_sqlite, migrated_database, new_database, running_service
from versioning.api import request_log
from versioning.apps import make_code_workspace
from versioning.models import log_position
from versioning.models.idempotency import UNWRITTEN
from versioning.models.log import LogPosition
from versioning.serving.followed_log import log


def pytest_configure() -> None:
    """Leave out what takes time in every test and says nothing: an index of files, slow hashes, log lines.

    No agent is defined in code unless a test says so: what is stored can be counted.
    """
    settings.EDITOR_FRAMEWORK = "tests.support.no_code.framework"
    settings.WHITENOISE_AUTOREFRESH = True  # every client would look for all static files
    # A thread of its own would have a database of its own: tests call write().
    RECORDER.every = None
    UNWRITTEN.every = None
    settings.EDITOR_STATEMENT_TIMEOUT = 0  # here a busy machine decides nothing; servers have their own
    settings.PASSWORD_HASHERS = forking.HASHERS
    request_log.logger.setLevel(logging.WARNING)  # pytest would format the line of each request three times
    # How fast this machine is at the moment says nothing about the code.
    slow_is_fine = [HealthCheck.too_slow, HealthCheck.data_too_large]
    hypothesis_settings.register_profile(
        "unhurried", max_examples=50, deadline=None, suppress_health_check=slow_is_fine
    )
    # Ten times as much, where something was changed: `make test ARGS=--hypothesis-profile=thorough`.
    hypothesis_settings.register_profile(
        "thorough", hypothesis_settings.get_profile("unhurried"), max_examples=500
    )
    hypothesis_settings.load_profile("unhurried")


@pytest.fixture(scope="session")
def django_db_setup(django_test_environment: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Give each process a copy of one database that was migrated for all; SQLite's is in memory."""
    with django_db_blocker.unblock():
        if is_sqlite():
            connect_to("file:tests?mode=memory&cache=shared")
            connection.ensure_connection()
            with machine.once_in_a_run("migrated") as (folder, is_first):
                file = folder / "live.sqlite3"
                with closing(sqlite3.connect(file)) as migrated:
                    if is_first:
                        call_command("migrate", verbosity=0, skip_checks=True)
                        connection.connection.backup(migrated)
                        (folder / "url").write_text(f"sqlite:///{file}")
                    else:
                        migrated.backup(connection.connection)
            yield
        else:
            with new_database(Path(), migrated_database()) as url:
                connect_to(url.rpartition("/")[2])
                yield
                connection.close()


def connect_to(database: str) -> None:
    connection.close()
    settings.DATABASES["default"]["NAME"] = connection.settings_dict["NAME"] = database


@pytest.fixture
def db(request: pytest.FixtureRequest) -> None:
    """The database, in a transaction that is rolled back unless the test uses `committed_db`."""
    request.getfixturevalue("committed_db" if "committed_db" in request.fixturenames else "db")


@pytest.fixture
def committed_db(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """The database without a transaction around the test, whose rows are deleted afterwards."""
    with django_db_blocker.unblock():
        yield
        delete_rows()
        LogPosition.objects.create()  # a migration does
        make_code_workspace()
        connections.close_all()


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what operates the service, and leave out what another test of the run says already."""
    for item in items:
        if item.path.parent.name == "operations":
            item.add_marker("processes")
    leave_out_the_other_kind(config, items, first=int(not is_sqlite()))
    leave_out_what_the_other_database_says(config, items)


def leave_out_the_other_kind(config: pytest.Config, items: list[pytest.Item], *, first: int) -> None:
    """Run a test that takes the fixture `kind` with one of the two, unless it is marked `both_kinds`.

    The code is the same for both, but for what is marked. The parameters of a test are tried with the kinds
    in turn, and half of the tests begin with each; `first`, 0 or 1, says which. A test that SQLite runs with
    one of them, PostgreSQL runs with the other.
    """
    tried: Counter[str] = Counter()
    chosen, left_out = [], []
    for item in items:
        kind = parameters(item).get("kind")
        if not isinstance(kind, Kind) or names_its_kinds(item):
            chosen.append(item)
            continue
        function, _, _ = item.nodeid.partition("[")
        turn = (first + crc32(function.encode()) + tried[f"{function} {kind.path}"]) % 2
        tried[f"{function} {kind.path}"] += 1
        (chosen if (kind is AGENTS) == (turn == 0) else left_out).append(item)
    config.hook.pytest_deselected(items=left_out)
    items[:] = chosen


def parameters(item: pytest.Item) -> dict[str, Any]:
    """Return the parameters of a test, by name."""
    return item.callspec.params if hasattr(item, "callspec") else {}


def names_its_kinds(item: pytest.Item) -> bool:
    """Say whether a test is marked `both_kinds`, or has a table of its own with the kinds in it."""
    return item.get_closest_marker("both_kinds") is not None or any(
        "kind" in mark.args[0] for mark in item.iter_markers("parametrize")
    )


def leave_out_what_the_other_database_says(config: pytest.Config, items: list[pytest.Item]) -> None:
    """On SQLite, leave out tests marked `postgresql`; on PostgreSQL, run these and those marked `database`.

    Those that ask every route and open every page of the studio are among them.
    """
    is_of_postgres = [item.get_closest_marker("postgresql") is not None for item in items]
    is_of_both = [item.get_closest_marker("database") is not None for item in items]
    stay = [*map(not_, is_of_postgres)] if is_sqlite() else [*map(or_, is_of_postgres, is_of_both)]
    config.hook.pytest_deselected(items=[*compress(items, map(not_, stay))])
    items[:] = compress(items, stay)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Let the garbage collector leave alone what stays until the end, and look less often at the rest."""
    gc.freeze()
    gc.set_threshold(200_000, 50, 100)


@dataclass(frozen=True)
class Cast:
    """Everybody's API, by name."""

    alice: Api
    paula: Api
    edgar: Api
    vera: Api
    charlie: Api
    root: Api
    nobody: Api


@pytest.fixture(autouse=True)
def nothing_cached() -> Iterator[None]:
    """Every test begins with another database, which this process has not followed the log of."""
    log.forget()
    RECORDER.forget()
    UNWRITTEN.forget()
    yield
    log_position.close()


@pytest.fixture
def cast(db: None) -> Cast:
    """Everybody with a key that reaches whatever they may do."""
    return cast_with(make_cast())


def cast_with(keys: dict[str, str]) -> Cast:
    """Return everybody's API, with keys by name."""
    return Cast(nobody=Api(""), **{name: Api(key) for name, key in keys.items()})


@pytest.fixture(scope="module")
def stored_once(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker
) -> Iterator[Callable[[], AbstractContextManager[None]]]:
    """Rows that all tests of a module start from: each sees them as they were made, whatever the others did.

    A fixture of the module makes them in `with stored_once():`. The transactions of its tests are savepoints
    of the one that begins here, so none of them can use `committed_db`.
    """

    class Rows(TestCase):
        pass

    with django_db_blocker.unblock():
        Rows.setUpClass()
    yield django_db_blocker.unblock
    with django_db_blocker.unblock():
        Rows.tearDownClass()
        Rows.doClassCleanups()


@pytest.fixture(scope="module")
def shared_keys(stored_once: Callable[[], AbstractContextManager[None]]) -> dict[str, str]:
    """The keys of a cast that all tests of a module share."""
    with stored_once():
        return make_cast()


@pytest.fixture
def shared_cast(db: None, shared_keys: dict[str, str]) -> Cast:
    """That cast; a module that wants it says so in a fixture `cast` of its own."""
    return cast_with(shared_keys)


@pytest.fixture
def alice(cast: Cast) -> Api:
    """The admin of acme, who may do everything there."""
    return cast.alice


@pytest.fixture
def folder(tmp_path: Path, settings: Any) -> Folder:
    """A folder for overrides of `answers` and `team/lead`, in no repository."""
    define(settings, tmp_path / "overrides")
    return Folder(tmp_path / "overrides")


@pytest.fixture(params=[AGENTS, PROMPT_BLOCKS], ids=["agents", "prompt-blocks"])
def kind(request: pytest.FixtureRequest) -> Kind:
    """Both kinds, for what is marked `both_kinds`; elsewhere one of them."""
    chosen: Kind = request.param
    return chosen


@pytest.fixture(scope="session")
def live_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A real server in its own processes with a database of its own; `.key` is an admin of `default`."""
    with running_service(tmp_path_factory.mktemp("live")) as service:
        yield service


@pytest.fixture
def fresh_service(tmp_path: Path) -> Iterator[Service]:
    """A server for one test alone, which may be killed."""
    with running_service(tmp_path) as service:
        yield service
