"""Programs that the fork server starts are like those that Python starts."""

from __future__ import annotations

import pytest

from tests.support import fork_server
from tests.support.service import environment_of

pytestmark = pytest.mark.processes

SETTINGS = """
import django
django.setup()
from django.conf import settings
from django.db import connection
print(connection.settings_dict["NAME"])
for name in dir(settings):
    if name.isupper() and " at 0x" not in repr(getattr(settings, name)):
        print(name, repr(getattr(settings, name)))
"""
GIVEN = {"DEBUG": "on", "SECRET_KEY": "its own", "EDITOR_THROTTLE": "5/min", "EDITOR_WEBHOOK_ALLOW": "::1"}


def test_a_fork_in_which_django_is_set_up_has_the_settings_of_its_environment() -> None:
    environment = environment_of("sqlite:////nowhere/its-own.sqlite3", **GIVEN)
    forked, begun = (
        fork_server.run("-c", SETTINGS, env=environment, is_set_up=is_set_up).stdout.splitlines()
        for is_set_up in (True, False)
    )
    assert forked == begun
    assert {"/nowhere/its-own.sqlite3", "SECRET_KEY 'its own'", "EDITOR_WEBHOOK_ALLOW ['::1']"} <= {*forked}


@pytest.mark.parametrize(
    ("program", "status", "said"),
    [
        ("import sys; sys.exit(3)", 3, ""),
        ("import sys; sys.exit('words')", 1, "words"),
        ("1 / 0", 1, "ZeroDivisionError: division by zero"),
        ("import atexit, sys; atexit.register(print, 'last', file=sys.stderr)", 0, "last"),
        ("import os; os.kill(os.getpid(), 9)", -9, ""),
    ],
)
def test_a_fork_ends_as_an_interpreter_does(program: str, status: int, said: str) -> None:
    done = fork_server.run("-c", program, env=environment_of("sqlite://:memory:"))
    assert (done.returncode, done.stderr.splitlines()[-1:]) == (status, [said] if said else [])
