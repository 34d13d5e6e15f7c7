"""The process of the fork server: imports the libraries, and becomes a program for every request."""

from __future__ import annotations

import atexit
import gc
import json
import logging
import os
import resource
import runpy
import select
import signal
import socket
import sys
import threading
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import django
from django.conf import global_settings, settings
from django.core.checks import run_checks
from django.core.signals import setting_changed
from django.db import connections
from django.test import Client

from tests.support.fork_server import MAX_REQUEST

LIBRARIES = """anyio._backends._asyncio cryptography.fernet django.contrib.admin
django.core.management.commands.migrate django.db.backends.postgresql.base django.db.backends.sqlite3.base
django.template.backends.django granian httpcore2 jsonschema openai psycopg_pool pydantic_ai.models.openai
regex requests rest_framework structlog whitenoise.middleware yaml"""
SET_UP = """django.core.management.commands.shell django.test.signals editor_client.transfer.commands
editor_project.management.commands.demo editor_project.management.commands.serve editor_project.urls
versioning.models.sealing versioning.runtime.preparation"""
"""What the server that has set up Django imports, too."""
HASHERS = [f"django.contrib.auth.hashers.{name}PasswordHasher" for name in ("MD5", "PBKDF2")]
"""How passwords are hashed in tests: a good hash takes half a second of processor, for each sign-in."""


def serve(requests: socket.socket, *, sets_up: bool) -> None:
    """Fork for every request until the socket is closed, and report the status of each program that ends."""
    gc.disable()  # all that is imported stays
    for name in LIBRARIES.split():
        import_module(name)
    global_settings.PASSWORD_HASHERS = HASHERS
    if sets_up:
        django.setup()
        for name in (*SET_UP.split(), settings.ROOT_URLCONF):
            import_module(name)
        warm_up()
    assert threading.active_count() == 1, "a fork would lack the other threads"
    gc.freeze()
    gc.enable()
    programs: dict[int, tuple[int, socket.socket]] = {}
    """The programs that run, by a file that says when they have ended."""
    while True:
        news_of = {news.fileno(): program for program, news in programs.values()}
        for ready in select.select([requests.fileno(), *programs, *news_of], [], [])[0]:
            if ready in programs:
                program, news = programs.pop(ready)
                os.close(ready)
                with news, suppress(OSError):
                    news.send(str(os.waitstatus_to_exitcode(os.waitpid(program, 0)[1])).encode())
            elif ready in news_of:
                with suppress(ProcessLookupError):
                    os.killpg(news_of[ready], signal.SIGKILL)  # no process waits for the program any more
            else:
                request, files, _, _ = socket.recv_fds(requests, MAX_REQUEST, 4)
                if not request:
                    return
                news = socket.socket(fileno=files.pop())
                program = os.fork()
                if not program:
                    os.setsid()  # now its group can be ended, too
                    news.send(str(os.getpid()).encode())
                    for connection in (requests, news, *(news for _, news in programs.values())):
                        connection.close()
                    become(json.loads(request), files)
                programs[os.pidfd_open(program)] = program, news
                for file in files:
                    os.close(file)


def warm_up() -> None:
    """Do what nearly every program would do first, and what Python and Django then have at hand."""
    logging.disable()
    run_checks()
    visitor = Client(headers={"host": "127.0.0.1"})
    for page in ("/healthz", "/studio/login/"):
        assert visitor.get(page).status_code == 200
    logging.disable(logging.NOTSET)


def become(request: dict[str, Any], files: list[int]) -> NoReturn:
    """Be the program, until it ends."""
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.chdir(request["cwd"])
    resource.setrlimit(resource.RLIMIT_NOFILE, tuple(request["limits"]))
    os.environ.clear()
    os.environ.update(request["env"])
    if settings.configured:
        read_settings()
    status = run(*request["args"])
    threading._shutdown()  # type: ignore[attr-defined]  # waits for the threads, as an interpreter does
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    os._exit(status)  # to take all the modules apart would take longer than most programs


def run(first: str, *rest: str) -> int:
    """Run what `python FIRST REST…` runs, and return its status."""
    begins = Path.cwd() if first in {"-c", "-m"} else Path(first).resolve().parent
    sys.path[0:1] = [str(begins), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    sys.argv = ["-c", *rest[1:]] if first == "-c" else [*rest] if first == "-m" else [first, *rest]
    try:
        if first == "-c":
            exec(compile(rest[0], "<string>", "exec"), {"__name__": "__main__"})
        elif first == "-m":
            runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(first, run_name="__main__")
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return (end.code or 0) & 0xFF
        print(end.code, file=sys.stderr)  # noqa: T201  as an interpreter does
        return 1
    except BaseException:  # noqa: BLE001  the program's, whatever it is
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def read_settings() -> None:
    """Read the settings again, as every process does at first, and tell those who keep something of them."""
    from versioning import conf  # noqa: PLC0415  a project may have another copy installed

    before = {name: getattr(settings, name) for name in dir(settings) if name.isupper()}
    for name in {settings.SETTINGS_MODULE, "editor_project.settings"}:
        sys.modules.pop(name, None)
    defaults = (*conf.SETTINGS, *conf.declared_settings())
    for setting in defaults:
        with suppress(AttributeError):
            delattr(settings, setting.name)
    for name, value in vars(import_module(settings.SETTINGS_MODULE)).items():
        if name.isupper():
            setattr(settings, name, value)
    for setting in defaults:
        conf.apply_default(setting)
    connections.settings.clear()
    connections.settings.update(connections.configure_settings(settings.DATABASES))
    for alias in connections:
        with suppress(AttributeError):
            del connections[alias]
    for name in [name for name in dir(settings) if name.isupper() and name != "DATABASES"]:
        value = getattr(settings, name)
        if name == "EDITOR_FRAMEWORK" or before.get(name) != value:  # that one has read others
            setting_changed.send(read_settings, setting=name, value=value, enter=True)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])), sets_up="set up" in sys.argv)
