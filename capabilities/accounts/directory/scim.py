"""The form of SCIM: filters, the attributes of a user, and PATCH operations, as values. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

ERROR: Final = "urn:ietf:params:scim:api:messages:2.0:Error"
LIST: Final = "urn:ietf:params:scim:api:messages:2.0:ListResponse"
PATCH: Final = "urn:ietf:params:scim:api:messages:2.0:PatchOp"
SEARCH: Final = "urn:ietf:params:scim:api:messages:2.0:SearchRequest"
USER: Final = "urn:ietf:params:scim:schemas:core:2.0:User"
ENTERPRISE: Final = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:user"
"""In lower case, because paths are compared in lower case."""

_FILTER: Final = re.compile(
    r'\s*(username|externalid)\s+eq\s+("(?:[^"\\]|\\.)*")\s*', re.IGNORECASE | re.DOTALL
)
_EMAIL_PATH: Final = re.compile(r'emails(\[type eq "work"\]|\[primary eq true\])?(\.value)?', re.IGNORECASE)
MAX_OPERATIONS: Final = 100
WORK: Final = "work"
"""The type of a mail address for which the directory gives none."""
MAX_RESULTS: Final = 200
MAX_INDEX: Final = 10**9
_LISTS: Final = ("attributes", "excludedAttributes")
_ALWAYS_RETURNED: Final = frozenset({"id", "schemas"})


class ScimError(Exception):
    def __init__(self, status: int, detail: str, kind: str | None = None) -> None:
        super().__init__(detail)
        self.status, self.detail, self.kind = status, detail, kind

    @property
    def body(self) -> dict[str, Any]:
        body = {"schemas": [ERROR], "status": str(self.status), "detail": self.detail}
        return body if self.kind is None else {**body, "scimType": self.kind}


def invalid(detail: str, kind: str = "invalidValue") -> ScimError:
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
    mail_type: str | None = None
    mail_is_primary: bool | None = None
    active: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Search:
    """The users in a list, and their attributes."""

    filter: str | None = None
    start: int = 1
    """The index of the first user, from 1."""
    count: int = MAX_RESULTS
    attributes: frozenset[str] = frozenset()
    """The only attributes to return besides `id` and `schemas`, in lower case; none for all."""
    excluded: frozenset[str] = frozenset()
    """The attributes not to return."""

    @classmethod
    def of_query(cls, query: Mapping[str, str]) -> Self:
        """Return the search of a query; raises `ScimError`."""
        single = {name: query[name] for name in query}
        return cls._of(
            {name: value.split(",") if name in _LISTS else value for name, value in single.items()}
        )

    @classmethod
    def of_body(cls, body: Any) -> Self:
        """Return the search of a body; raises `ScimError`."""
        members = _object(body)
        if SEARCH not in _schemas(members, []):
            raise invalid(f"schemas must contain {SEARCH}.")
        return cls._of(members)

    @classmethod
    def _of(cls, members: Mapping[str, Any]) -> Self:
        text = members.get("filter")
        if text is not None and not isinstance(text, str):
            raise invalid("filter must be a text.", "invalidFilter")
        attributes, excluded = (_names(members, name) for name in _LISTS)
        if attributes and excluded:
            raise invalid("There must be attributes or excludedAttributes, but not both.")
        return cls(
            filter=text,
            start=max(_number(members, "startIndex", 1), 1),
            count=min(max(_number(members, "count", MAX_RESULTS), 0), MAX_RESULTS),
            attributes=attributes,
            excluded=excluded,
        )

    def select(self, resource: Mapping[str, Any]) -> dict[str, Any]:
        selected = {}
        for name, value in resource.items():
            if name in _ALWAYS_RETURNED:
                selected[name] = value
            elif isinstance(value, list):
                parts = [subset for subset in (self._select(name, part) for part in value) if subset]
                selected |= {name: parts} if parts else {}
            elif (member := self._select(name, value)) not in ({}, None):
                selected[name] = member
        return selected

    def _select(self, name: str, value: Any) -> Any:
        """Return a value, or its requested parts; None for nothing."""
        whole = name.lower()
        if whole in self.excluded:
            return None
        if not isinstance(value, Mapping):
            return value if not self.attributes or whole in self.attributes else None
        is_whole = not self.attributes or whole in self.attributes
        return {
            part: content
            for part, content in value.items()
            if (path := f"{whole}.{part.lower()}") not in self.excluded
            and (is_whole or path in self.attributes)
        }


def _names(members: Mapping[str, Any], name: str) -> frozenset[str]:
    names = members.get(name) or []
    if not isinstance(names, list) or not all(isinstance(entry, str) for entry in names):
        raise invalid(f"{name} must be a list of names.")
    return frozenset(text.strip().removeprefix(f"{USER}:").lower() for text in names) - {""}


def _number(members: Mapping[str, Any], name: str, default: int) -> int:
    value = members.get(name)
    if value is None:
        return default
    if not re.fullmatch(r"\s*[+-]?[0-9]{1,100}\s*", str(value), re.ASCII):
        raise invalid(f"{name} must be a whole number.")
    return min(int(value), MAX_INDEX)


def filter_of(text: str) -> tuple[str, str]:
    """Return the attribute (`username` or `externalid`) and the value of a filter; raises `ScimError`."""
    match = _FILTER.fullmatch(text)
    try:
        value = json.loads(match[2]) if match else None
    except ValueError:
        value = None
    if match is None or value is None:
        raise invalid('The filter must be userName eq "…" or externalId eq "…".', "invalidFilter")
    if "\x00" in value:
        raise invalid("The filter contains a NUL character.", "invalidFilter")
    return match[1].lower(), str(value)


def user_of(body: Any, *, is_new: bool) -> Changes:
    """Return the attributes of a whole user; omitted ones are removed, except for `active` and the names.

    Unsupported attributes are ignored, as SCIM allows. Raises `ScimError`.
    """
    members = _object(body)
    if USER not in _schemas(members, [USER]):
        raise invalid(f"schemas must contain {USER}.")
    changes = dict(_attributes(members))
    if "user_name" not in changes:
        raise invalid("userName is required.")
    if is_new:
        return Changes(**{"active": True, **changes})
    cleared = dict.fromkeys(("external_id", "given_name", "family_name", "display_name", "mail"), "")
    return Changes(**{**cleared, **changes})


def read_patch(body: Any) -> Changes:
    """Return the outcome of the operations of a PATCH; raises `ScimError`."""
    members = _object(body)
    if PATCH not in _schemas(members, []):
        raise invalid(f"schemas must contain {PATCH}.")
    operations = members.get("Operations")
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
        yield from _attributes(_join_names(_object(value)))
    elif name == "remove":
        yield from ((attribute, "") for attribute in _list_removed(path))
    else:
        yield from _at(path, value)


def _at(path: Any, value: Any) -> Iterator[tuple[str, Any]]:
    place = _place(path)
    if place is None:
        return
    if place == "emails":
        yield from _mail(value if isinstance(value, list | Mapping) else {"value": value})
    elif place == "name":
        yield from _attributes({"name": value})
    elif place == "active":
        yield from _attributes({"active": value})
    else:
        yield _TEXTS[place], _text(place, value)


def _list_removed(path: Any) -> list[str]:
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
"""Paths of unsupported attributes of RFC 7643; directories set many of them by default."""


def _place(path: Any) -> str | None:
    """Return the attribute of a path, None for an unsupported one; raises `ScimError`."""
    place = str(path).removeprefix(f"{USER}:").lower()
    if _EMAIL_PATH.fullmatch(place):
        return "emails"
    if place in {*_TEXTS, "name", "active"}:
        return place
    if _IGNORED.fullmatch(place):
        return None
    raise invalid("path must be one of active, name, emails, displayName, externalId.", "invalidPath")


def _join_names(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return attributes with those of a name, such as `name.givenName`, in the name."""
    joined: dict[str, Any] = {}
    for key, member in value.items():
        first, _, rest = key.partition(".")
        if rest and first.lower() == "name":
            joined["name"] = {**_object(joined.get("name") or {}), rest: member}
        else:
            joined[key] = member
    return joined


def _attributes(attributes: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the supported attributes; their names ignore case."""
    for key, value in attributes.items():
        name = key.lower()
        if name == "active":
            # Some directories send it as a text.
            is_text = isinstance(value, str) and value.lower() in {"true", "false"}
            if not is_text and not isinstance(value, bool):
                raise invalid("active must be true or false.")
            yield "active", value.lower() == "true" if is_text else value
        elif name == "emails":
            yield from _mail(value)
        elif name == "name" and value is not None:
            parts = {f"name.{part.lower()}": text for part, text in _object(value).items()}
            yield from (
                (_TEXTS[part], _text(part, text))
                for part, text in parts.items()
                if part in {"name.givenname", "name.familyname"}
            )
        elif name in {"username", "externalid", "displayname"}:
            yield _TEXTS[name], _text(key, value)


def _mail(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the primary address, or else the first, with its type."""
    entries = value if isinstance(value, list) else [value]
    mails = [_object(entry) for entry in entries if entry is not None]
    primary = next((mail for mail in mails if mail.get("primary") is True), mails[0] if mails else {})
    yield "mail", _text("emails.value", primary.get("value"))
    yield "mail_type", _text("emails.type", primary.get("type")) or WORK
    yield "mail_is_primary", primary.get("primary") is not False


def _text(name: str, value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, str) or not value.isprintable():
        raise invalid(f"{name} must be a text of visible characters.")
    return value


def _schemas(members: Mapping[str, Any], default: list[str]) -> list[Any]:
    schemas = members.get("schemas", default)
    if not isinstance(schemas, list):
        raise invalid("schemas must be a list.", "invalidSyntax")
    return schemas


def _object(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise invalid("There must be a JSON object.", "invalidSyntax")
    return value
