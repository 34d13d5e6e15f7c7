"""Settings from the environment; an invalid value raises an error that names the variable."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Final

import environ
from django.core.checks import CheckMessage, Error
from django.core.exceptions import ImproperlyConfigured

from versioning.conf import Setting, declared_settings

_DATABASES: Final = ("django.db.backends.postgresql", "django.db.backends.sqlite3")
_NUMBERS: Final = {int: "a whole number", float: "a number"}
_NO: Final = frozenset({"", "off", "false", "no", "n", "0"})
_OF_THE_CLIENT: Final = frozenset({"EDITOR_API_KEY", "EDITOR_URL"})
"""Variables of programs that call an editor, in the same environment."""
_SECRET: Final = re.compile("KEY|SECRET|PASSWORD|TOKEN|OIDC")


class Environment(environ.Env):
    """The environment of this process; raises `ImproperlyConfigured` for invalid values."""

    def get_value(self, var: str, cast: Any = None, *options: Any, **more: Any) -> Any:
        """Return the value of a variable, or its default, as `environ.Env` does."""
        if cast is bool and var in self.ENVIRON:
            text = self.ENVIRON[var].strip().lower()
            if text not in _NO and text not in self.BOOLEAN_TRUE_STRINGS and text != "1":
                raise ImproperlyConfigured(f"{var} has to be on or off, not {self.ENVIRON[var]!r}.")
        try:
            if cast is float and var in self.ENVIRON:
                return float(self.ENVIRON[var])  # the library drops other characters than digits: 4s, 1e3
            return super().get_value(var, cast, *options, **more)
        except ValueError as error:
            expected = _NUMBERS.get(cast, "a valid value")
            raise ImproperlyConfigured(f"{var} has to be {expected}, not {self.ENVIRON[var]!r}.") from error

    def setting(self, setting: Setting) -> Any:
        """Return the value of a setting of the editor, or its default."""
        kind = setting.kind or type(setting.default)
        return getattr(self, kind.__name__)(setting.name, default=setting.default)

    def database(self, var: str, default: str) -> dict[str, Any]:
        return self.database_of(var, self.str(var, default=default))

    def database_of(self, name: str, url: str) -> dict[str, Any]:
        """Return Django's settings for the database of a URL; raises `ImproperlyConfigured`."""
        scheme = url.partition(":")[0]
        try:
            # The scheme alone determines the database; without one the URL is invalid.
            database: dict[str, Any] = self.db_url_config(url) if scheme in self.DB_SCHEMES else {}
        except ValueError:  # such as an invalid port; the error might contain the password
            database = {}
        if database.get("ENGINE") not in _DATABASES:
            raise ImproperlyConfigured(
                f"{name} names neither PostgreSQL (postgres://user:password@host/name) nor SQLite "
                f"(sqlite:////folder/file), but {_without_password(url)}; "
                "leave it unset for SQLite under var/."
            )
        return database

    def replica_of(self, primary: Mapping[str, Any], name: str, url: str) -> dict[str, Any]:
        """Return Django's settings for a streaming replica; raises `ImproperlyConfigured`."""
        replica = self.database_of(name, url)
        if replica["ENGINE"] != _DATABASES[0] or primary["ENGINE"].endswith("sqlite"):
            raise ImproperlyConfigured(
                f"{name} is {_without_password(url)}, but only PostgreSQL has replicas: DATABASE_URL and "
                f"{name} both have to name PostgreSQL (postgres://user:password@host/name)."
            )
        return replica


def _without_password(url: str) -> str:
    """Return the part of a database URL that may be shown, without the password."""
    if not url:
        return "it is empty"
    scheme, separator, _ = url.partition("://")
    return f"{scheme}://…" if separator and scheme.isalnum() else "something without a scheme"


def check_names(environment: Mapping[str, str] = os.environ, **_options: Any) -> list[CheckMessage]:
    """Return an error for each variable `EDITOR_…` that is not a setting and so has no effect.

    This is a Django system check, which commands run before they begin.
    """
    setting_names = {setting.name for setting in declared_settings()}
    return [
        Error(
            f"{name} is {'set' if _SECRET.search(name) else repr(value)}, but there is no such setting.",
            hint=" ".join(
                f"Do you mean {close_match}?" for close_match in get_close_matches(name, setting_names, n=1)
            )
            or "docs/reference/settings.md has all of them.",
            id="editor_project.E001",
        )
        for name, value in sorted(environment.items())
        if name.startswith("EDITOR_") and name not in setting_names | _OF_THE_CLIENT
    ]
