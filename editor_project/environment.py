"""Settings from the environment; an invalid value raises an error that names the variable."""

from __future__ import annotations

from typing import Any, Final

import environ
from django.core.exceptions import ImproperlyConfigured

from versioning.conf import Setting

_DATABASES: Final = ("django.db.backends.postgresql", "django.db.backends.sqlite3")
_NUMBERS: Final = {int: "a whole number", float: "a number"}


class Environment(environ.Env):
    """The environment of this process; raises `ImproperlyConfigured` for invalid values."""

    def get_value(self, var: str, cast: Any = None, *options: Any, **more: Any) -> Any:
        """Return the value of a variable, or its default, as `environ.Env` does."""
        try:
            return super().get_value(var, cast, *options, **more)
        except ValueError as error:
            wanted = _NUMBERS.get(cast, "something that can be read")
            raise ImproperlyConfigured(f"{var} has to be {wanted}, not {self.ENVIRON[var]!r}.") from error

    def setting(self, setting: Setting) -> Any:
        """Return the value of a setting of the editor, or its default."""
        kind = setting.kind or type(setting.default)
        return getattr(self, kind.__name__)(setting.name, default=setting.default)

    def database(self, var: str, default: str) -> dict[str, Any]:
        """Return Django's settings for the database of a URL, PostgreSQL or SQLite."""
        url = self.str(var, default=default)
        scheme = url.partition(":")[0]
        try:
            # The scheme alone determines the database; without one the URL is invalid.
            found: dict[str, Any] = self.db_url_config(url) if scheme in self.DB_SCHEMES else {}
        except ValueError:  # such as an invalid port; the error might contain the password
            found = {}
        if found.get("ENGINE") not in _DATABASES:
            raise ImproperlyConfigured(
                f"{var} names neither PostgreSQL (postgres://user:password@host/name) nor SQLite "
                "(sqlite:////folder/file); leave it unset for SQLite under var/."
            )
        return found
