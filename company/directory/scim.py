"""The form of SCIM: filters, the attributes of a user, and PATCH operations, as values. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

ERROR: Final = "urn:ietf:params:scim:api:messages:2.0:Error"
LIST: Final = "urn:ietf:params:scim:api:messages:2.0:ListResponse"
PATCH: Final = "urn:ietf:params:scim:api:messages:2.0:PatchOp"
USER: Final = "urn:ietf:params:scim:schemas:core:2.0:User"
ENTERPRISE: Final = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:user"
"""In small letters, as paths are compared."""

_FILTER: Final = re.compile(
    r'\s*(username|externalid)\s+eq\s+("(?:[^"\\]|\\.)*")\s*', re.IGNORECASE | re.DOTALL
)
_EMAIL_PATH: Final = re.compile(r'emails(\[type eq "work"\]|\[primary eq true\])?(\.value)?', re.IGNORECASE)
MAX_OPERATIONS: Final = 100


class ScimError(Exception):
    """A refusal, in SCIM's own form."""

    def __init__(self, status: int, detail: str, kind: str | None = None) -> None:
        super().__init__(detail)
        self.status, self.detail, self.kind = status, detail, kind

    @property
    def body(self) -> dict[str, Any]:
        """The JSON object of the answer."""
        body = {"schemas": [ERROR], "status": str(self.status), "detail": self.detail}
        return body if self.kind is None else {**body, "scimType": self.kind}


def invalid(detail: str, kind: str = "invalidValue") -> ScimError:
    """Return the error for a request that is wrong."""
    return ScimError(400, detail, kind)


@dataclass(frozen=True, kw_only=True)
class Changes:
    """Attributes of a user; None if not mentioned, an empty text if removed."""

    user_name: str | None = None
    external_id: str | None = None
    display_name: str | None = None
    given_name: str | None = None
    family_name: str | None = None
    mail: str | None = None
    active: bool | None = None


def filter_of(text: str) -> tuple[str, str]:
    """Return the attribute (`username` or `externalid`) and the value of a filter; raises `ScimError`."""
    found = _FILTER.fullmatch(text)
    try:
        value = json.loads(found[2]) if found else None
    except ValueError:
        value = None
    if found is None or value is None:
        raise invalid('The filter must be userName eq "…" or externalId eq "…".', "invalidFilter")
    return found[1].lower(), str(value)


def user_of(body: Any, *, is_new: bool) -> Changes:
    """Return the attributes of a whole user; what it leaves out is removed, but for `active` and the names.

    Attributes that are not kept here are ignored, as SCIM allows. Raises `ScimError`.
    """
    given = _object(body)
    if USER not in _schemas(given, [USER]):
        raise invalid(f"schemas must contain {USER}.")
    changes = dict(_attributes(given))
    if "user_name" not in changes:
        raise invalid("userName is required.")
    if is_new:
        return Changes(**{"active": True, **changes})
    cleared = dict.fromkeys(("external_id", "given_name", "family_name", "display_name", "mail"), "")
    return Changes(**{**cleared, **changes})


def patch_of(body: Any) -> Changes:
    """Return the outcome of the operations of a PATCH; raises `ScimError`."""
    given = _object(body)
    if PATCH not in _schemas(given, []):
        raise invalid(f"schemas must contain {PATCH}.")
    operations = given.get("Operations")
    if not isinstance(operations, list) or not 0 < len(operations) <= MAX_OPERATIONS:
        raise invalid("Operations must be a list of operations.", "invalidSyntax")
    changes: dict[str, Any] = {}
    for operation in operations:
        changes |= dict(_operation(_object(operation)))
    return Changes(**changes)


def _operation(operation: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    name, path, value = str(operation.get("op", "")).lower(), operation.get("path"), operation.get("value")
    if name not in {"add", "replace", "remove"}:
        raise invalid("op must be add, replace or remove.", "invalidSyntax")
    if path is None:
        if name == "remove":
            raise invalid("remove needs a path.", "noTarget")
        yield from _attributes(_dotted(_object(value)))
    elif name == "remove":
        yield from ((attribute, "") for attribute in _removed(path))
    else:
        yield from _at(path, value)


def _at(path: Any, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the attributes that an operation with a path sets."""
    place = _place(path)
    if place is None:
        return
    if place == "emails":
        yield "mail", _mail(value) if isinstance(value, list | Mapping) else _text("emails", value)
    elif place == "name":
        yield from _attributes({"name": value})
    elif place == "active":
        yield from _attributes({"active": value})
    else:
        yield _TEXTS[place], _text(place, value)


def _removed(path: Any) -> list[str]:
    place = _place(path)
    if place is None:
        return []
    if place in {"active", "username"}:
        raise invalid(f"{path} cannot be removed.", "mutability")
    if place == "name":
        return ["given_name", "family_name"]
    return ["mail" if place == "emails" else _TEXTS[place]]


_TEXTS: Final = {
    "username": "user_name",
    "externalid": "external_id",
    "displayname": "display_name",
    "name.formatted": "display_name",
    "name.givenname": "given_name",
    "name.familyname": "family_name",
}


_IGNORED: Final = re.compile(
    r"(nickname|profileurl|title|usertype|preferredlanguage|locale|timezone|password|name\."
    r"(middlename|honorificprefix|honorificsuffix)|(emails|phonenumbers|ims|photos|addresses|groups|entitlements|roles"
    r'|x509certificates)(\[[a-z]+ eq ("[^"]*"|true|false)\])?(\.[a-z]+)?'
    rf"|{re.escape(ENTERPRISE)}(:[a-z]+(\.[a-z]+)?)?)"
)
"""Paths of the attributes of RFC 7643 that are not kept here; directories set many by default."""


def _place(path: Any) -> str | None:
    """Return what a path leads to, None for an attribute that is not kept here; raises `ScimError`."""
    place = str(path).removeprefix(f"{USER}:").lower()
    if _EMAIL_PATH.fullmatch(place):
        return "emails"
    if place in {*_TEXTS, "name", "active"}:
        return place
    if _IGNORED.fullmatch(place):
        return None
    raise invalid("path must be one of active, name, emails, displayName, externalId.", "invalidPath")


def _dotted(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return attributes with those of a name, such as `name.givenName`, in the name."""
    found: dict[str, Any] = {}
    for key, one in value.items():
        first, _, rest = key.partition(".")
        if rest and first.lower() == "name":
            found["name"] = {**_object(found.get("name") or {}), rest: one}
        else:
            found[key] = one
    return found


def _attributes(given: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the attributes that are kept here; names of attributes ignore case."""
    for key, value in given.items():
        name = key.lower()
        if name == "active":
            yield "active", _boolean(value)
        elif name == "emails":
            yield "mail", _mail(value)
        elif name == "name" and value is not None:
            parts = {f"name.{part.lower()}": one for part, one in _object(value).items()}
            yield from (
                (_TEXTS[part], _text(part, one))
                for part, one in parts.items()
                if part in {"name.givenname", "name.familyname"}
            )
        elif name in {"username", "externalid", "displayname"}:
            yield _TEXTS[name], _text(key, value)


def _boolean(value: Any) -> bool:
    if isinstance(value, str) and value.lower() in {"true", "false"}:  # as some directories send it
        return value.lower() == "true"
    if not isinstance(value, bool):
        raise invalid("active must be true or false.")
    return value


def _mail(value: Any) -> str:
    """Return the primary address, or else the first."""
    found = value if isinstance(value, list) else [value]
    mails = [_object(one) for one in found if one is not None]
    chosen = next((one for one in mails if one.get("primary") is True), mails[0] if mails else {})
    return _text("emails.value", chosen.get("value"))


def _text(name: str, value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, str) or not value.isprintable():
        raise invalid(f"{name} must be a text of visible characters.")
    return value


def _schemas(given: Mapping[str, Any], default: list[str]) -> list[Any]:
    found = given.get("schemas", default)
    if not isinstance(found, list):
        raise invalid("schemas must be a list.", "invalidSyntax")
    return found


def _object(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise invalid("There must be a JSON object.", "invalidSyntax")
    return value
