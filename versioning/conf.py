"""The settings of the editor with their defaults; the editor of an installation, and its framework.

`EDITOR_INSTANCE` and `EDITOR_FRAMEWORK` name the two; nothing else needs to know where they are created.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning  # noqa: A004  Django calls it that
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.urls import NoReverseMatch, get_script_prefix, reverse
from django.utils.module_loading import import_string

if TYPE_CHECKING:
    from versioning.editor import Editor
    from versioning.runtime import Framework

_T = TypeVar("_T")

DEFAULTS: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "EDITOR_API_PREFIX": "api",  # where the project includes versioning.api.urls; no slash at either end
        "EDITOR_BODY_TIMEOUT": 10.0,  # seconds
        "EDITOR_CLIENT_ADDRESS_HEADER": "",  # a header that a proxy sets
        "EDITOR_CODE_PATH": "./service/editor",
        "EDITOR_CODE_WORKSPACE": "default",
        "EDITOR_FRAMEWORK": "",  # a dotted path; empty: no agents in code
        "EDITOR_GIT_HISTORY_DEPTH": 50,  # commits of a file
        "EDITOR_HTTPS": False,  # whether a proxy in front uses https
        "EDITOR_KEEP_EVENTS": 0,  # days; 0 keeps all entries of the log
        "EDITOR_INSTANCE": "",  # a dotted path; empty: the editor of the framework
        "EDITOR_KEEP_VERSIONS": 0,  # per resource; 0 keeps all of them
        "EDITOR_CACHE_BYTES": 16 * 1024 * 1024,  # for cached answers, per process
        "EDITOR_MAX_BODY": 1024 * 1024,  # bytes
        "EDITOR_PIN_WORKERS": "auto",  # or "on", "off"
        "EDITOR_SCHEDULE_GRACE": 86400,  # seconds that a schedule may be late
        "EDITOR_SOURCE": "database",  # or "code": override files under Git
        "EDITOR_STATEMENT_TIMEOUT": 4.0,  # seconds, on PostgreSQL; 0: no limit
        "EDITOR_STREAMS": None,  # open event streams of a process; None: 200, or 4 where each takes a thread
        "EDITOR_THROTTLE": "",  # such as "600/min"; empty: no limit
        "EDITOR_WEBHOOK_ALLOW": (),  # hosts and CIDRs that webhooks may be sent to although they are internal
        "EDITOR_WEBHOOK_KEY": "",  # empty: SECRET_KEY; several, the newest first, with commas between them
        "EDITOR_WORKER": "on",  # or "off": whether `serve` runs a worker
    }
)
"""Every setting of the editor with its default; docs/settings.md explains them."""


def apply_defaults() -> None:
    """Add the defaults of all settings that the project does not set to Django's settings.

    Called when the application is loaded, so that `settings.EDITOR_…` works like any other setting.
    """
    for name, value in DEFAULTS.items():
        if not hasattr(settings, name):
            setattr(settings, name, value)


def check_api_prefix(**_options: Any) -> list[CheckMessage]:
    """Check that the project serves the API under `EDITOR_API_PREFIX`, if it serves the API at all."""
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
    """Check that SQLite transactions take the write lock when they begin.

    Otherwise two that read first and write later fail with "database is locked", whatever the timeout.
    """
    options = settings.DATABASES["default"].get("OPTIONS", {})
    if connection.vendor != "sqlite" or options.get("transaction_mode") == "IMMEDIATE":
        return []
    message = "On SQLite, concurrent changes of agents will fail: database is locked."
    hint = "Set OPTIONS['transaction_mode'] of the database to 'IMMEDIATE'."
    return [Warning(message, hint=hint, id="versioning.W001")]


def get_editor() -> Editor:
    """Return the editor of this installation, with the agents that its framework defines in code.

    `EDITOR_INSTANCE` names it; if that is empty, it is the editor of the framework. Raises
    `ImproperlyConfigured` if the framework has none, or another one, and for a name that leads to neither.
    """
    return _load(settings.EDITOR_INSTANCE, settings.EDITOR_FRAMEWORK)[0]


def get_framework() -> Framework:
    """Return the framework named by `EDITOR_FRAMEWORK`, or an empty one; raises as `get_editor` does."""
    return _load(settings.EDITOR_INSTANCE, settings.EDITOR_FRAMEWORK)[1]


@cache
def _load(editor_path: str, framework_path: str) -> tuple[Editor, Framework]:
    from versioning.editor import Editor  # noqa: PLC0415  settings are read before there are models
    from versioning.runtime import Framework  # noqa: PLC0415

    named = _imported("EDITOR_INSTANCE", editor_path, Editor) if editor_path else None
    if not framework_path:
        editor = named or Editor()
        return editor, Framework(editor=editor)
    framework = _imported("EDITOR_FRAMEWORK", framework_path, Framework)
    handed = cast("Editor | None", framework.editor)
    if handed is None or named not in {None, handed}:
        problem = "has no editor" if handed is None else f"has another editor than {editor_path}"
        raise ImproperlyConfigured(
            f"EDITOR_FRAMEWORK: {framework_path} {problem}; give it Framework(editor=…)"
        )
    return handed, framework


def _imported(setting: str, path: str, wanted: type[_T]) -> _T:
    try:
        found = import_string(path)
    except ImportError as error:
        raise ImproperlyConfigured(f"{setting} is {path!r}, which cannot be imported: {error}") from error
    if not isinstance(found, wanted):
        raise ImproperlyConfigured(f"{setting} is {path!r}, which is no {wanted.__name__}.")
    return found
