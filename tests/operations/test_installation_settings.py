"""Settings name the editor of an installation and its framework; unusable values are refused."""

from __future__ import annotations

import os
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from editor_project.conf import check_prefix
from editor_project.environment import Environment, check_names
from tests.support import fork_server
from versioning.conf import check_values, get_editor, get_framework
from versioning.editor import Editor
from versioning.runtime import Framework

editor = Editor()
framework = Framework(editor=editor)
stranger = Framework(editor=Editor())
alone = Framework()


def choose(settings: Any, *, instance: str = "", framework: str = "") -> None:
    """Name an editor and a framework of this module."""
    settings.EDITOR_INSTANCE = instance and f"{__name__}.{instance}"
    settings.EDITOR_FRAMEWORK = framework and f"{__name__}.{framework}"


@pytest.mark.parametrize("instance", ["", "editor"])
def test_a_framework_uses_the_editor_that_it_was_given(settings: Any, instance: str) -> None:
    choose(settings, instance=instance, framework="framework")
    assert (get_editor(), get_framework()) == (editor, framework)


def test_an_editor_without_a_framework_gets_one_without_agents(settings: Any) -> None:
    choose(settings, instance="editor")
    assert get_editor() is editor is get_framework().editor
    choose(settings)
    assert get_editor() is get_framework().editor is not editor
    assert not get_framework().agents


@pytest.mark.parametrize(
    ("instance", "name", "said"),
    [("", "alone", "alone has no editor"), ("editor", "stranger", "another editor than .*editor")],
)
def test_a_framework_that_does_not_fit_is_refused(settings: Any, instance: str, name: str, said: str) -> None:
    choose(settings, instance=instance, framework=name)
    with pytest.raises(ImproperlyConfigured, match=said):
        get_editor()


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("EDITOR_FRAMEWORK", "framework"),
        ("EDITOR_FRAMEWORK", "not.there"),
        ("EDITOR_FRAMEWORK", "versioning.editor.Editor"),
        ("EDITOR_INSTANCE", "versioning.conf.get_editor"),
        ("EDITOR_API_PREFIX", "a b"),
        ("EDITOR_API_PREFIX", "../api"),
        ("EDITOR_BODY_TIMEOUT", float("nan")),
        ("EDITOR_CLIENT_ADDRESS_HEADER", "X Real"),
        ("EDITOR_CODE_WORKSPACE", ""),
        ("EDITOR_EVALUATION_CONCURRENCY", 10**9),
        ("EDITOR_GIT_HISTORY_DEPTH", 10**12),
        ("EDITOR_HTTPS", "on"),
        ("EDITOR_KEEP_EVENTS", -1),
        ("EDITOR_KEEP_EVENTS", 10**6),
        ("EDITOR_KEEP_RESULTS", True),
        ("EDITOR_KEYS_NEED_SIGN_IN_DAYS", 1e9),
        ("EDITOR_MAX_BODY", 0),
        ("EDITOR_METRICS_BIND", "127.0.0.1:99999"),
        ("EDITOR_PIN_WORKERS", "sometimes"),
        ("EDITOR_PUBLIC_URL", "https://editor.example.com:99999"),
        ("EDITOR_SCHEDULE_GRACE", 10**12),
        ("EDITOR_SESSION_IDLE", 1e12),
        ("EDITOR_SOURCE", "Database"),
        ("EDITOR_STATEMENT_TIMEOUT", float("inf")),
        ("EDITOR_STATEMENT_TIMEOUT", 10**8),
        ("EDITOR_STATEMENT_TIMEOUT", "4s"),
        ("EDITOR_STREAMS", -1),
        ("EDITOR_THROTTLE", "600"),
        ("EDITOR_THROTTLE", "0/min"),
        ("EDITOR_WORKER", "yes"),
    ],
)
def test_an_unusable_value_is_an_error_of_the_check(settings: Any, setting: str, value: object) -> None:
    assert not check_values()
    setattr(settings, setting, value)
    [error] = check_values()
    assert setting in error.msg


@pytest.mark.parametrize("prefix", ["studio", "studio/api", "scim", "readyz", "static/api"])
def test_the_api_is_not_where_the_service_has_other_addresses(settings: Any, prefix: str) -> None:
    assert not check_prefix()
    settings.EDITOR_API_PREFIX = prefix
    [error] = check_prefix()
    assert repr(prefix) in error.msg


@pytest.mark.parametrize(
    "url",
    ["", "mysql://user:hush@127.0.0.1/name", "postgres://user:hush@127.0.0.1:port/name", "hush"],
)
def test_a_database_of_another_kind_is_refused(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("DATABASE_URL", url)
    with pytest.raises(ImproperlyConfigured, match=r"^DATABASE_URL names neither") as refusal:
        Environment().database("DATABASE_URL", default="sqlite://:memory:")
    assert "hush" not in str(refusal.value)


@pytest.mark.parametrize(
    ("primary", "url"),
    [
        ("postgresql", "sqlite:///file"),
        ("sqlite", "postgres://user:hush@127.0.0.1/name"),
        ("postgresql", "hush"),
    ],
)
def test_only_postgresql_has_replicas(primary: str, url: str) -> None:
    database = {"ENGINE": f"editor_project.database.{primary}"}
    with pytest.raises(ImproperlyConfigured, match=r"^DATABASE_REPLICA_URL .*PostgreSQL") as refusal:
        Environment().replica_of(database, "DATABASE_REPLICA_URL", url)
    assert "hush" not in str(refusal.value)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("EDITOR_THROTLE", "600/min", "EDITOR_THROTLE is '600/min', but there is no such setting."),
        ("EDITOR_WEBHOOKS_KEY", "hush", "EDITOR_WEBHOOKS_KEY is set, but there is no such setting."),
    ],
)
def test_a_name_that_is_no_setting_is_an_error_of_the_check(name: str, value: str, said: str) -> None:
    known = {
        "EDITOR_THROTTLE": "600/min",
        "EDITOR_URL": "http://127.0.0.1",
        "EDITOR_API_KEY": "ek_",
        "EDIT": "x",
    }
    [error] = check_names({**known, name: value})
    assert error.msg == said
    assert error.hint == f"Do you mean {name.replace('TLE', 'TTLE').replace('HOOKS', 'HOOK')}?"


@pytest.mark.parametrize(
    ("name", "cast", "value"),
    [
        ("EDITOR_HTTPS", bool, "maybe"),
        ("EDITOR_MAX_BODY", int, "1 MiB"),
        ("EDITOR_BODY_TIMEOUT", float, ""),
        ("EDITOR_STATEMENT_TIMEOUT", float, "4s"),
    ],
)
def test_a_malformed_value_is_refused_with_its_name(
    monkeypatch: pytest.MonkeyPatch, name: str, cast: type, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ImproperlyConfigured, match=f"^{name} has to be .*, not {value!r}"):
        Environment().get_value(name, cast=cast)


@pytest.mark.parametrize(
    ("setting", "value", "is_readable"),
    [("EDITOR_STREAMS", "some", False), ("EDITOR_THROTLE", "600", True), ("EDITOR_THROTTLE", "600", True)],
)
def test_the_server_does_not_start_with_values_that_the_check_refuses(
    setting: str, value: str, is_readable: bool
) -> None:
    environment = {**os.environ, "DATABASE_URL": "sqlite://:memory:", setting: value}
    done = fork_server.run("manage.py", "serve", env=environment, is_set_up=is_readable)
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    [_sentence] = [line for line in done.stderr.splitlines() if setting in line]
