"""The cast, and the two ways to meet the service: in this process, and as a real server.

In the workspace `acme`, alice is admin, paula publisher, edgar editor and vera viewer. charlie is
a stranger: an admin, but of `elsewhere`. root is a superuser and a member of nothing.
"""

from __future__ import annotations

import gc
import logging
import re
import socket
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from functools import cache, partial
from inspect import isfunction
from itertools import compress
from operator import not_, or_
from pathlib import Path
from typing import Any
from zlib import crc32

import django.test.utils
import pytest
import pytest_rerunfailures
from django.conf import settings
from django.db import connections, transaction
from django.template.base import Template
from django.template.context import Context, RequestContext
from django.test import TransactionTestCase
from django.test.signals import template_rendered
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from pytest_django import DjangoDbBlocker

from capabilities.rollouts.counting import Recorder
from tests.support import fork_server, machine
from tests.support.api import AGENTS, PROMPT_BLOCKS, Api, Kind
from tests.support.emptying import empty
from tests.support.override_files import Folder, define
from tests.support.people import make_cast
from tests.support.service import Service, is_sqlite, migrated_database, running_service
from versioning.api import request_log
from versioning.models import log_position
from versioning.serving.followed_log import log


def pytest_configure() -> None:
    """Leave out what takes time in every test and says nothing: an index of files, slow hashes, log lines.

    No agent is defined in code unless a test says so: what is stored can be counted.
    """
    settings.EDITOR_FRAMEWORK = "tests.support.no_code.framework"
    settings.WHITENOISE_AUTOREFRESH = True  # every client would look for all static files
    Recorder.every = None  # a thread of its own would have a database of its own: tests call write()
    settings.EDITOR_STATEMENT_TIMEOUT = 0  # here a busy machine decides nothing; servers have their own
    settings.PASSWORD_HASHERS = fork_server.HASHERS
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
    TransactionTestCase._fixture_teardown = empty
    django.test.utils.instrumented_test_render = render


def pytest_sessionstart(session: pytest.Session) -> None:
    """Let a process of pytest-xdist say at once which test begins, as pytest-rerunfailures asks of it.

    It sends two short messages for each test, and TCP would hold back the second for 40 ms.
    """
    if hasattr(session.config, "workerinput"):
        controller: socket.socket = session.config.failures_db.sock
        controller.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def render(template: Template, context: Context) -> str:
    """Render a template, in place of what Django's test client renders with.

    That one tells the client of every widget and every included part, with a copy of its context; a page
    consists of dozens. Here the client learns of the page alone.
    """
    if context.template is template and isinstance(context, RequestContext):
        template_rendered.send(sender=template, template=template, context=context)
    return template.nodelist.render(context)


@pytest.fixture(scope="session")
def django_db_modify_db_settings(request: pytest.FixtureRequest) -> None:
    """Give each process a database of its own, a copy of one that was migrated for all.

    One of SQLite is in memory: pytest-django knows so of Django's backend, and not of the one that waits in
    a queue. Where a test is tried once more, the database of this process has its name already.
    """
    database = settings.DATABASES["default"]
    if is_sqlite():
        creation = connections["default"].creation
        creation.create_test_db = partial(create_or_copy, creation)  # type: ignore[method-assign]
    elif not database["TEST"].get("NAME"):
        request.getfixturevalue("django_db_modify_db_settings_parallel_suffix")
        database["TEST"]["TEMPLATE"] = migrated_database().rpartition("/")[2]


def create_or_copy(creation: Any, **options: Any) -> str:
    """Create the SQLite database of this process and return its name: see `migrated_database`.

    Where there is none to copy, this process migrates its own, and copies that for the others.
    """
    connection = creation.connection
    with machine.once_in_a_run("migrated") as (folder, is_first):
        file = folder / "live.sqlite3"
        with closing(sqlite3.connect(file)) as migrated:
            if is_first:
                name = type(creation).create_test_db(creation, **options)
                connection.connection.backup(migrated)
                (folder / "url").write_text(f"sqlite:///{file}")
            else:
                name = creation._get_test_db_name()
                connection.close()
                settings.DATABASES[connection.alias]["NAME"] = connection.settings_dict["NAME"] = name
                connection.ensure_connection()
                migrated.backup(connection.connection)
    return str(name)


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what starts programs, and leave out what another test of the run says already."""
    for item in items:
        if starts_programs(item):
            item.add_marker("processes")
    leave_out_the_other_kind(config, items, first=int(not is_sqlite()))
    leave_out_what_the_other_database_says(config, items)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Let a test that is tried once more begin as the first one did, with servers and databases of its own.

    A server that its module or the session shares still has what the first attempt made there.
    pytest-rerunfailures means to go on with it, and has put aside what would end it.
    """
    if getattr(item, "execution_count", 1) > 1:
        pytest_rerunfailures._restore_suspended_finalizers(item)
        item.session._setupstate.teardown_exact(None)


STARTERS = {
    "tests.support.fork_server",
    "tests.support.installation",
    "tests.support.programs",
    "tests.support.projects",
    "tests.support.service",
    "tests.support.wheels",
}
"""Modules with which a test starts servers, workers, commands and other programs."""


@cache
def may_start_programs(module: Path) -> bool:
    """Say by the text of a module, and of its folder's fixtures, whether a test there can start programs."""
    texts = [one.read_text() for one in (module, module.with_name("conftest.py")) if one.exists()]
    words = "|".join(name.rpartition(".")[2] for name in STARTERS)  # fixtures are named after `service`
    return module.parent.name == "operations" or re.search(words, "".join(texts)) is not None


def starts_programs(item: pytest.Item) -> bool:
    """Say whether a test is about operating the service, has a server, or imports what starts programs."""
    if not may_start_programs(item.path):
        return False
    has_server = any("service" in name for name in getattr(item, "fixturenames", ()))
    if has_server or item.path.parent.name == "operations":
        return True
    module = item.getparent(pytest.Module)
    imported = vars(module.obj).values() if module else ()
    return any(
        (one.__module__ if isfunction(one) else getattr(one, "__name__", "")) in STARTERS for one in imported
    )


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


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not even import the modules of which no test will be run: on PostgreSQL, and with `-m processes`."""
    if not collection_path.name.startswith("test_") or collection_path.suffix != ".py":
        return None
    text = collection_path.read_text()
    if not is_sqlite() and not re.search(r"mark\.(database|postgresql)", text):
        return True
    return (config.option.markexpr == "processes" and not may_start_programs(collection_path)) or None


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
    of the one that begins here, so none of them can need a transaction of its own (`transactional_db`).
    """
    outer = transaction.atomic()
    outer._from_testcase = True  # type: ignore[attr-defined]  # what Django's TestCase says of its own
    with django_db_blocker.unblock():
        outer.__enter__()
    yield django_db_blocker.unblock
    with django_db_blocker.unblock():
        transaction.set_rollback(True)
        outer.__exit__(None, None, None)


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
