"""The settings of the editor with their defaults; the framework of an installation and its editor.

`EDITOR_FRAMEWORK` names the framework; nothing else needs to know where it is put together.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning  # noqa: A004  Django calls it that
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.urls import NoReverseMatch, get_script_prefix, reverse
from django.utils.module_loading import import_string

if TYPE_CHECKING:
    from versioning.editor import Editor
    from versioning.runtime import Framework


DEFAULTS: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "EDITOR_API_PREFIX": "api",  # where the project includes versioning.api.urls; no slash at either end
        "EDITOR_BODY_TIMEOUT": 10.0,  # seconds
        "EDITOR_CLIENT_ADDRESS_HEADER": "",  # that a proxy writes
        "EDITOR_CODE_PATH": "./service/editor",
        "EDITOR_CODE_WORKSPACE": "default",
        "EDITOR_FRAMEWORK": "",  # a dotted path; empty is an editor without agents in code
        "EDITOR_GIT_HISTORY_DEPTH": 50,  # commits of a file
        "EDITOR_HTTPS": False,  # a proxy in front takes https
        "EDITOR_KEEP_EVENTS": 0,  # days for which the log has its entries; 0 keeps all of them
        "EDITOR_KEEP_VERSIONS": 0,  # of a resource; 0 keeps all of them
        "EDITOR_CACHE_BYTES": 16 * 1024 * 1024,  # of answers, a process
        "EDITOR_MAX_BODY": 1024 * 1024,  # bytes
        "EDITOR_PIN_WORKERS": "auto",  # or "on", "off"
        "EDITOR_SOURCE": "database",  # or "code": override files under Git
        "EDITOR_STATEMENT_TIMEOUT": 4.0,  # seconds, on PostgreSQL; 0 is none
        "EDITOR_THROTTLE": "",  # such as "600/min"; empty is off
        "EDITOR_WORKER": "on",  # or "off": whether `serve` runs a worker beside itself
    }
)
"""Every setting of the editor, as it is unless a project sets it; docs/settings.md explains them."""


def apply_defaults() -> None:
    """Give Django's settings the defaults of those that the project has not set.

    Done when the application is loaded, so that everything reads `settings.EDITOR_…` as any other setting.
    """
    for name, value in DEFAULTS.items():
        if not hasattr(settings, name):
            setattr(settings, name, value)


def check_api_prefix(**_options: Any) -> list[CheckMessage]:
    """Check that the project serves the API where `EDITOR_API_PREFIX` says, if it serves it at all."""
    try:
        served_at = reverse("versioning:schema").removeprefix(get_script_prefix())
    except NoReverseMatch:
        return []
    if served_at == f"{settings.EDITOR_API_PREFIX}/schema":
        return []
    found = served_at.removesuffix("/schema")
    message = f"EDITOR_API_PREFIX is {settings.EDITOR_API_PREFIX!r}, but versioning.api.urls is at {found!r}."
    hint = "Make the two the same, without a slash at either end."
    return [Error(message, hint=hint, id="versioning.E001")]


def check_sqlite(**_options: Any) -> list[CheckMessage]:
    """Check that on SQLite a transaction takes the write lock when it begins.

    Otherwise two that read first and write later end in "database is locked", whatever the timeout.
    """
    options = settings.DATABASES["default"].get("OPTIONS", {})
    if connection.vendor != "sqlite" or options.get("transaction_mode") == "IMMEDIATE":
        return []
    message = "On SQLite, concurrent changes of agents will fail: database is locked."
    hint = "Set OPTIONS['transaction_mode'] of the database to 'IMMEDIATE'."
    return [Warning(message, hint=hint, id="versioning.W001")]


def get_framework() -> Framework:
    """Return the framework that `EDITOR_FRAMEWORK` names; raises `ImproperlyConfigured` without an editor.

    Where it names none, it is one without agents in code: the editor then has the stored ones.
    """
    return _load(settings.EDITOR_FRAMEWORK)


def get_editor() -> Editor:
    """Return the framework's editor."""
    found: Editor = get_framework().editor  # type: ignore[assignment]
    return found


@cache
def _load(path: str) -> Framework:
    if not path:
        from versioning.editor import Editor  # noqa: PLC0415  settings are read before there are models
        from versioning.runtime import Framework  # noqa: PLC0415

        return Framework(editor=Editor())
    found: Framework = import_string(path)
    if found.editor is None:
        raise ImproperlyConfigured(
            f"EDITOR_FRAMEWORK: {path} has no editor; give it Framework(editor=Editor())"
        )
    return found
