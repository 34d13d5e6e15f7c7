"""The settings of the editor with their defaults; the editor of an installation, and its framework.

`EDITOR_INSTANCE` and `EDITOR_FRAMEWORK` name the two; other code need not know where they are created.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar, cast

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning  # noqa: A004  Django calls it that
from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed
from django.db import connection
from django.dispatch import receiver
from django.urls import NoReverseMatch, get_script_prefix, reverse
from django.utils.module_loading import import_string
from editor_client.shared import ids

from versioning.domain.provider_catalog import configured_providers, own_prices
from versioning.domain.registering import require_instance

if TYPE_CHECKING:
    from versioning.editor import Editor
    from versioning.runtime import Framework

_T = TypeVar("_T")

Check = Callable[[str, Any], object]
"""Raises `ImproperlyConfigured` for an invalid value, given the name of the setting and the value."""


def one_of(*choices: str) -> Check:
    """Return a check that a setting has one of these values."""

    def check(name: str, value: object) -> None:
        if value not in choices:
            expected = f"{', '.join(choices[:-1])} or {choices[-1]}"
            raise ImproperlyConfigured(f"{name} is {expected}, not {value!r}.")

    return check


def written_as(pattern: str, description: str) -> Check:
    """Return a check that a non-empty text matches a regular expression, described by `description`."""

    def check(name: str, value: str) -> None:
        if value and not re.fullmatch(pattern, value):
            raise ImproperlyConfigured(f"{name} has to be {description}, not {value!r}.")

    return check


def positive(name: str, value: float) -> None:
    if value <= 0:
        raise ImproperlyConfigured(f"{name} must be above 0, and is {value}.")


def at_most(limit: float, further: Check | None = None) -> Check:
    """Return a check that a number is within the limit of dates or of the database."""

    def check(name: str, value: float) -> None:
        if value > limit:
            raise ImproperlyConfigured(f"{name} must be at most {limit:,}, and is {value}.")
        if further is not None:
            further(name, value)

    return check


DAYS: Final = 36_500
"""A hundred years, in days."""
DAY: Final = 86_400
"""A day, in seconds; PostgreSQL limits statements to 24 days."""
MAX_32_BITS: Final = 2**31 - 1
"""The largest number that Git and PostgreSQL accept."""


def _name_of_workspace(name: str, value: str) -> None:
    if ids.problem(value) is not None:
        raise ImproperlyConfigured(f"{name} is {value!r}, which cannot be the id of a workspace.")


def _check_kind(setting: Setting, value: object) -> None:
    """Raise `ImproperlyConfigured` for a value of the wrong type in a project's settings."""
    kind = setting.kind or type(setting.default)
    types = (*_TYPES[kind], Mapping) if setting.is_json else _TYPES[kind]
    if (value is None and setting.default is None) or (
        isinstance(value, types) and (kind is bool or not isinstance(value, bool))
    ):
        return
    raise ImproperlyConfigured(f"{setting.name} has to be {_WORDS[kind]}, not {value!r}.")


_TYPES: Final[dict[type, tuple[type, ...]]] = {
    bool: (bool,),
    int: (int,),
    float: (int, float),
    str: (str, os.PathLike),
    list: (list, tuple),
    tuple: (list, tuple),
}
_WORDS: Final = {
    bool: "True or False",
    int: "a whole number",
    float: "a number",
    str: "a text",
    list: "a list",
    tuple: "a list",
}


def _rate(name: str, value: str) -> None:
    from versioning.models.throttle import parse_rate  # noqa: PLC0415  settings are read before there are models

    if value and not parse_rate(value)[0]:
        raise ImproperlyConfigured(f"{name} is {value!r}, which would refuse every request.")


def _prices(name: str, value: Any) -> None:
    try:
        own_prices(value)
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} {error}.") from error


def _providers(name: str, value: Any) -> None:
    try:
        configured = configured_providers(value)
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} {error}.") from error
    twice: set[str] = set()
    with suppress(ImproperlyConfigured):  # the check of EDITOR_FRAMEWORK reports it
        twice = configured.keys() & get_framework().providers.keys()
    if twice:
        raise ImproperlyConfigured(
            f"{name} has the provider {min(twice)!r}, which the framework also defines."
        )


class Setting(NamedTuple):
    """A setting of the editor. An application declares its own (`EditorApp.settings`)."""

    name: str
    default: Any
    meaning: str
    """The beginning of its line in docs/reference/settings.md; the page may explain more."""
    shown: str = ""
    """The default in words for the page; empty: the default itself."""
    kind: type | None = None
    """The type in the environment: `str`, `int`, `float`, `bool` or `list`; None: that of the default."""
    check: Check | None = None
    """A further check; numbers are always finite and not negative."""
    error_id: str = "versioning.E002"
    is_json: bool = False
    """Whether a project may set the object itself in place of its JSON."""

    @property
    def line(self) -> str:
        """The beginning of its line in docs/reference/settings.md."""
        default = self.shown or f"`{str(self.default).removesuffix('.0')}`"
        return f"| `{self.name}` | {default} | {self.meaning}"


SETTINGS: Final = (
    Setting(
        "EDITOR_API_PREFIX",
        "api",
        "the path of the API",
        "`/api`",
        check=written_as(r"/*{0}(/{0})*/*".format(r"(?!\.{1,2}(/|$))[\w.~-]+"), "a path such as /api"),
    ),
    Setting(
        "EDITOR_BODY_TIMEOUT",
        10.0,
        "how many seconds the body of a request may take to arrive",
        check=at_most(DAY, positive),
    ),
    Setting("EDITOR_CACHE_BYTES", 16 * 1024 * 1024, "how many bytes of answers a process caches"),
    Setting(
        "EDITOR_CLIENT_ADDRESS_HEADER",
        "",
        "the header in which a [proxy](../guides/deploy.md) writes",
        "none",
        check=written_as(r"[A-Za-z0-9-]+", "the name of a header, such as X-Real-IP"),
    ),
    Setting("EDITOR_CODE_PATH", "./service/editor", "the folder of override files"),
    Setting(
        "EDITOR_CODE_WORKSPACE",
        "default",
        "the workspace of agents in code",
        check=_name_of_workspace,
    ),
    Setting(
        "EDITOR_FRAMEWORK",
        "",
        "the dotted path of the framework",
        "`editor_project.framework.framework`",
        check=lambda _name, _value: get_framework(),
    ),
    Setting(
        "EDITOR_GIT_HISTORY_DEPTH",
        50,
        "how many commits of an override file are read",
        check=at_most(MAX_32_BITS),
    ),
    Setting(
        "EDITOR_HTTPS",
        default=False,
        meaning="`on` behind a [proxy](../guides/deploy.md) that people reach by https",
        shown="off",
    ),
    Setting(
        "EDITOR_INSTANCE", "", "the dotted path of the `Editor`", "the editor that the framework was handed"
    ),
    Setting(
        "EDITOR_INVITATIONS_PER_HOUR",
        50,
        "how many invitations and new links one person can send an hour; 0: unlimited",
        check=at_most(MAX_32_BITS),
    ),
    Setting("EDITOR_KEEP_EVENTS", 0, "for how many days log entries are kept", "all", check=at_most(DAYS)),
    Setting(
        "EDITOR_KEEP_VERSIONS",
        0,
        "how many versions of a resource are kept",
        "all",
        check=at_most(MAX_32_BITS),
    ),
    Setting("EDITOR_MAX_BODY", 1024 * 1024, "the largest request body, in bytes", check=positive),
    Setting(
        "EDITOR_PIN_WORKERS", "auto", "whether `serve` [keeps each worker", check=one_of("auto", "on", "off")
    ),
    Setting(
        "EDITOR_PRICES",
        "",
        "prices of models in US dollars for a million tokens, as JSON",
        "none",
        check=_prices,
        is_json=True,
    ),
    Setting(
        "EDITOR_PROVIDERS",
        "",
        "further [model providers](../guides/connect-a-model.md) by name, as JSON",
        "none",
        check=_providers,
        is_json=True,
    ),
    Setting(
        "EDITOR_REPLICA_LAG",
        5.0,
        "how many seconds a [replica](../guides/add-a-replica.md) may be behind",
        check=at_most(DAY),
    ),
    Setting(
        "EDITOR_RUN_THREADS",
        40,
        "how many [runs](runs.md#limits) a process has in progress at once",
        check=positive,
    ),
    Setting(
        "EDITOR_SOURCE",
        "database",
        "where overrides of agents in code are stored",
        check=one_of("code", "database"),
    ),
    Setting(
        "EDITOR_STATEMENT_TIMEOUT",
        4.0,
        "on PostgreSQL, how many seconds a statement of a request may take",
        check=at_most(DAY),
    ),
    Setting(
        "EDITOR_STREAMS",
        None,  # 200, or 4 where each takes a thread
        "how many [event streams](events.md#stream) a process keeps open",
        "`200`",
        kind=int,
    ),
    Setting("EDITOR_THROTTLE", "", "the maximum number of requests of one key", "off", check=_rate),
    Setting("EDITOR_WORKER", "on", "whether `serve` also runs a [worker]", check=one_of("on", "off")),
)


_declared: Final[dict[str, Setting]] = {}


def declare(setting: Setting) -> None:
    """Declare a setting (`EditorApp.settings`).

    Raises `ValueError` if another one has its name, or if it has no kind that can be read and checked.
    """
    require_instance(setting, Setting, by="settings")
    kind = setting.kind or type(setting.default)
    if kind not in _TYPES:
        allowed = ", ".join(kind.__name__ for kind in _TYPES)
        raise ValueError(f"the setting {setting.name} has the kind {kind.__name__}; allowed kinds: {allowed}")
    if _declared.setdefault(setting.name, setting) is not setting:
        raise ValueError(f"the setting {setting.name} is declared already")
    apply_default(setting)


def declared_settings() -> Collection[Setting]:
    return _declared.values()


def apply_default(setting: Setting) -> None:
    """Add a setting that the project does not set to Django's settings, so that it works like any other.

    Its value is the default, or the result of the project's function `EDITOR_READ_SETTING` for the `Setting`.
    """
    if not hasattr(settings, setting.name):
        read = getattr(settings, "EDITOR_READ_SETTING", attrgetter("default"))
        setattr(settings, setting.name, read(setting))


def check_values(**_options: Any) -> list[CheckMessage]:
    """Return an error for each setting with an invalid value, in a sentence that names the setting.

    This is a Django system check, which commands run before they begin.
    """
    errors: list[CheckMessage] = []
    for setting in declared_settings():
        value = getattr(settings, setting.name)
        try:
            _check_kind(setting, value)
            if isinstance(value, int | float):
                if math.isnan(value) or math.isinf(value):
                    raise ImproperlyConfigured(f"{setting.name} has to be a finite number, not {value}.")
                if value < 0:
                    raise ImproperlyConfigured(f"{setting.name} must not be negative, and is {value}.")
            if setting.check is not None:
                setting.check(setting.name, value)
        except ImproperlyConfigured as error:
            errors.append(Error(str(error), id=setting.error_id))
    return errors


def check_api_prefix(**_options: Any) -> list[CheckMessage]:
    """Check that the project serves the API under `EDITOR_API_PREFIX`, if it serves the API at all."""
    try:
        served_at = reverse("versioning:schema").removeprefix(get_script_prefix())
    except NoReverseMatch:
        return []
    if served_at == f"{settings.EDITOR_API_PREFIX}/schema":
        return []
    path = served_at.removesuffix("/schema")
    message = f"EDITOR_API_PREFIX is {settings.EDITOR_API_PREFIX!r}, but versioning.api.urls is at {path!r}."
    hint = "Make the two the same, without a slash at either end."
    return [Error(message, hint=hint, id="versioning.E001")]


def check_sqlite(**_options: Any) -> list[CheckMessage]:
    """Check that SQLite transactions take the write lock when they begin.

    Otherwise two transactions that read first and write later fail with "database is locked", with any
    timeout.
    """
    options = settings.DATABASES["default"].get("OPTIONS", {})
    if connection.vendor != "sqlite" or options.get("transaction_mode") == "IMMEDIATE":
        return []
    message = "On SQLite, concurrent changes of agents will fail: database is locked."
    hint = "Set OPTIONS['transaction_mode'] of the database to 'IMMEDIATE'."
    return [Warning(message, hint=hint, id="versioning.W001")]


@cache
def get_editor() -> Editor:
    """Return the editor of this installation, with the agents that its framework defines in code.

    `EDITOR_INSTANCE` names it; if that is empty, it is the editor of the framework. Raises
    `ImproperlyConfigured` if the framework has none, or another one, and for an invalid name.
    """
    return _load()[0]


def get_framework() -> Framework:
    """Return the framework named by `EDITOR_FRAMEWORK`, or an empty one; raises as `get_editor` does."""
    return _load()[1]


@receiver(setting_changed)
def _load_again(setting: str, **_signal: Any) -> None:
    """Clear the caches when a test changes the settings."""
    if setting in {"EDITOR_INSTANCE", "EDITOR_FRAMEWORK"}:
        get_editor.cache_clear()
        _load.cache_clear()


@cache
def _load() -> tuple[Editor, Framework]:
    from versioning.editor import Editor  # noqa: PLC0415  settings are read before there are models
    from versioning.runtime import Framework  # noqa: PLC0415

    editor_path, framework_path = settings.EDITOR_INSTANCE, settings.EDITOR_FRAMEWORK
    named = _import_setting("EDITOR_INSTANCE", editor_path, Editor) if editor_path else None
    if not framework_path:
        editor = named or Editor()
        return editor, Framework(editor=editor)
    framework = _import_setting("EDITOR_FRAMEWORK", framework_path, Framework)
    handed = cast("Editor | None", framework.editor)
    if handed is None or named not in {None, handed}:
        problem = "has no editor" if handed is None else f"has another editor than {editor_path}"
        raise ImproperlyConfigured(
            f"EDITOR_FRAMEWORK: {framework_path} {problem}; give it Framework(editor=…)"
        )
    return handed, framework


def _import_setting(setting: str, path: str, expected: type[_T]) -> _T:
    try:
        value = import_string(path)
    except ImportError as error:
        raise ImproperlyConfigured(f"{setting} is {path!r}, which cannot be imported: {error}") from error
    if not isinstance(value, expected):
        raise ImproperlyConfigured(f"{setting} is {path!r}, which is not a {expected.__name__}.")
    return value
