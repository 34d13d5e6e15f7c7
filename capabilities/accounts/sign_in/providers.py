"""The identity providers of the settings, and the rules that map their groups to roles."""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from versioning.domain.access import Role

_T = TypeVar("_T")
_ID: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_SCOPES: Final = ("openid", "profile", "email")


@dataclass(frozen=True, kw_only=True)
class Provider:
    id: str
    name: str
    issuer: str
    client_id: str
    client_secret: str
    scopes: tuple[str, ...] = _SCOPES
    groups_claim: str = "groups"


@dataclass(frozen=True, kw_only=True)
class GroupRule:
    """A rule: members of a provider's group have this role in a workspace."""

    provider: str
    group: str
    workspace: str
    role: Role


def providers() -> Mapping[str, Provider]:
    """Return the providers by id; raises `ImproperlyConfigured` for a value that cannot be used."""
    return _providers(settings.EDITOR_OIDC)


def provider_of_directory() -> str | None:
    """Return the id of the provider whose subjects are the external ids of the directory.

    It is the named or the only provider. None if there are several and none is named, because their subjects
    may collide.
    """
    if settings.EDITOR_DIRECTORY_PROVIDER:
        return str(settings.EDITOR_DIRECTORY_PROVIDER)
    provider_ids = list(providers())
    return provider_ids[0] if len(provider_ids) == 1 else None


def group_rules() -> Sequence[GroupRule]:
    """Return the rules about groups; raises `ImproperlyConfigured` for a value that cannot be used."""
    return _group_rules(settings.EDITOR_SSO_GROUPS)


def is_secure(address: str) -> bool:
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    if parts.username or parts.password or not parts.hostname:
        return False
    try:
        is_loopback = ipaddress.ip_address(parts.hostname).is_loopback
    except ValueError:
        is_loopback = parts.hostname == "localhost"
    return parts.scheme == "https" or (parts.scheme == "http" and is_loopback)


@lru_cache(maxsize=8)
def _providers(text: str) -> Mapping[str, Provider]:
    configured = _read_list("EDITOR_OIDC", text, _provider)
    ids = [provider.id for provider in configured]
    if len(set(ids)) != len(ids):
        raise ImproperlyConfigured("EDITOR_OIDC names two providers with the same id.")
    return {provider.id: provider for provider in configured}


@lru_cache(maxsize=8)
def _group_rules(text: str) -> Sequence[GroupRule]:
    return _read_list("EDITOR_SSO_GROUPS", text, _group_rule)


def _read_list(setting: str, text: str, read: Callable[[str, dict[str, Any]], _T]) -> list[_T]:
    """Return the JSON objects in a setting."""
    if not text:
        return []
    try:
        entries = json.loads(text)
    except ValueError as error:
        raise ImproperlyConfigured(f"{setting} is not valid JSON: {error}.") from None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ImproperlyConfigured(f"{setting} has to be a list of JSON objects.")
    return [read(f"{setting}[{number}]", entry) for number, entry in enumerate(entries)]


def _provider(where: str, entry: dict[str, Any]) -> Provider:
    texts = _texts(
        where, entry, "id", "name", "issuer", "clientId", "clientSecret", more={"scopes", "groupsClaim"}
    )
    if not _ID.fullmatch(texts["id"]):
        raise ImproperlyConfigured(f"{where}.id has to be of a-z, 0-9 and -, not {texts['id']!r}.")
    if not is_secure(texts["issuer"]):
        raise ImproperlyConfigured(f"{where}.issuer has to begin with https://, not {texts['issuer']!r}.")
    scopes = entry.get("scopes", list(_SCOPES))
    if isinstance(scopes, str):
        scopes = scopes.split()
    if not isinstance(scopes, list) or not all(isinstance(scope, str) and scope for scope in scopes):
        raise ImproperlyConfigured(f"{where}.scopes has to be a list of texts.")
    claim = entry.get("groupsClaim", "groups")
    if not isinstance(claim, str) or not claim:
        raise ImproperlyConfigured(f"{where}.groupsClaim has to be a text.")
    return Provider(
        id=texts["id"],
        name=texts["name"],
        issuer=texts["issuer"],
        client_id=texts["clientId"],
        client_secret=texts["clientSecret"],
        scopes=tuple(dict.fromkeys(["openid", *scopes])),
        groups_claim=claim,
    )


def _group_rule(where: str, entry: dict[str, Any]) -> GroupRule:
    texts = _texts(where, entry, "provider", "group", "workspace", "role")
    try:
        role = Role(texts["role"])
    except ValueError:
        raise ImproperlyConfigured(
            f"{where}.role is one of {', '.join(Role)}, not {texts['role']!r}."
        ) from None
    return GroupRule(
        provider=texts["provider"], group=texts["group"], workspace=texts["workspace"], role=role
    )


def _texts(
    where: str, entry: dict[str, Any], *names: str, more: set[str] | frozenset[str] = frozenset()
) -> dict[str, str]:
    """Return the members that are texts; raises `ImproperlyConfigured` for others, and for unknown ones."""
    for name in names:
        if not isinstance(entry.get(name), str) or not entry[name].strip():
            raise ImproperlyConfigured(f"{where}.{name} is missing or not a text.")
    unknown = sorted(set(entry) - {*names, *more})
    if unknown:
        raise ImproperlyConfigured(f"{where}.{unknown[0]} is not known.")
    return {name: entry[name].strip() for name in names}
