"""The result of a reader: resources, datasets, and every loss in words, such as unknown members and keys."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from editor_client.shared import canonical, ids
from editor_client.shared.clipping import clip
from editor_client.shared.configurations import MAX_METADATA

Kind = Literal["agent", "promptBlock", "scorer"]
Config = dict[str, Any]
MAX_LOSSES: Final = 1_000
MAX_SHOWN: Final = 60
MAX_ID: Final = 150
"""The maximum length of an id made from a name, with room for a suffix."""
_SHORTENED: Final = 140
_JOINERS: Final = "\u200c\u200d"
"""Invisible characters that are parts of visible ones: of emoji, and of words in Persian or Hindi."""


class Unreadable(Exception):
    """A source cannot be read, or exceeds a limit; the message has the place and the reason."""


@dataclass(frozen=True, kw_only=True)
class Loss:
    """A part of the source that is changed or missing in the editor."""

    code: str
    where: str
    message: str
    line: int | None = None
    """The line in the text that `where` names."""

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        place = {} if self.line is None else {"line": self.line}
        return {"code": self.code, "where": self.where, **place, "message": self.message}


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """One version of a resource in the source."""

    config: Config
    message: str
    number: str | None = None
    """Its number in the source, if that has versions."""
    labels: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Resource:
    """An agent, a prompt block or a scorer, with its versions, oldest first."""

    kind: Kind
    id: str
    name: str
    """The name in the source, which `metadata.origin` keeps."""
    snapshots: Sequence[Snapshot]
    published: int | None = None
    """The live snapshot in the source; None if unknown."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Data without its own place, for `metadata.import`."""
    tags: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """Items with a name; each has an `externalId`."""

    name: str
    items: Sequence[Mapping[str, Any]]
    description: str | None = None
    scorer_ids: Sequence[str] = ()
    agent_ids: Sequence[str] = ()
    """The agents whose prompts the items were written for."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Data without its own place, for `metadata.import`."""
    source_name: str = ""
    """The name in the source, for `metadata.origin`, if it differs."""
    stored_name: str = ""
    """The name in the editor, with the prefix of the import."""


@dataclass
class Collection:
    """The content of a source."""

    system: str
    resources: list[Resource] = field(default_factory=list)
    datasets: list[Dataset] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)
    _names: dict[tuple[str, str], str] = field(default_factory=dict)
    _listed: set[Loss] = field(default_factory=set)
    _unlisted: int = 0

    def lose(self, code: str, where: str, message: str, line: int | None = None) -> None:
        """Note a loss, once; from a certain number on they are only counted."""
        loss = Loss(code=code, where=excerpt(where), message=message, line=line)
        if loss in self._listed:
            return
        if len(self.losses) >= MAX_LOSSES:
            self._unlisted += 1
        else:
            self._listed.add(loss)
            self.losses.append(loss)

    def all_losses(self) -> list[Loss]:
        """Return the losses, and the number of unlisted ones."""
        if not self._unlisted:
            return self.losses
        return [*self.losses, Loss(code="more", where="", message=f"{self._unlisted} more are not listed.")]

    def id_for(self, name: str, kind: Kind, *, is_path: bool = False) -> str:
        """Return the id of a resource of this name: the same for the same name, another for every other.

        The path of a file is the id unchanged, if it is valid.
        """
        new_id = name if is_path and id_problem(name) is None and len(name) <= MAX_ID else make_id(name)
        if self._names.setdefault((kind, new_id), name) == name:
            return new_id
        renamed = f"{clip(new_id, MAX_ID)}-{_short_digest(name)}"
        self._names[kind, renamed] = name
        self.lose("id_changed", name, f"Its id is {renamed!r}, because another name gives the id {new_id!r}.")
        return renamed

    def mark(self) -> tuple[int, int]:
        """Return the current size, so that `attach` knows the additions of a part of the source."""
        return len(self.resources), len(self.datasets)

    def attach(self, extra: Mapping[str, Any], since: tuple[int, int], where: str) -> None:
        """Attach shared data to the additions since a mark: to a dataset, or to the resources."""
        resources, datasets = since
        if not extra:
            return
        if len(self.datasets) > datasets:
            dataset = self.datasets[datasets]
            self.datasets[datasets] = replace(dataset, extra=self.fitting({**extra, **dataset.extra}, where))
            return
        if len(self.resources) == resources:
            members = ", ".join(map(excerpt, extra))
            self.lose(
                "left_out", where, f"Nothing is made of it, so metadata.import does not have {members}."
            )
        kinds = {resource.kind for resource in self.resources[resources:]}
        for place in range(resources, len(self.resources)):
            resource = self.resources[place]
            if resource.kind == "agent" or "agent" not in kinds:
                self.resources[place] = replace(
                    resource, extra=self.fitting({**extra, **resource.extra}, where)
                )

    def fitting(self, extra: Mapping[str, Any], where: str) -> dict[str, Any]:
        """Return the members that fit into the metadata, and note the others as lost."""
        members: dict[str, Any] = {}
        size = 0
        for name, value in extra.items():
            length = len(canonical.dump({name: value}).encode())
            if size + length > MAX_METADATA // 2:
                self.lose(
                    "too_large", where, f"{excerpt(name)} is too large for the metadata; it is left out."
                )
            else:
                members[name] = value
                size += length
        return members


def make_id(name: str) -> str:
    """Return an id for a name: each part between slashes in lower case, with `-` for other characters."""
    parts = [ids.slug(part) for part in name.split("/")]
    slug = "/".join(part for part in parts if part)
    if not slug or any(not part for part in parts):
        plain = unicodedata.normalize("NFC", name.strip())
        slug = plain if id_problem(plain) is None else slug or f"prompt-{_short_digest(name)}"
    if len(slug) > MAX_ID:
        slug = f"{clip(slug, _SHORTENED).rstrip('-/')}-{_short_digest(name)}"
    return (
        slug
        if id_problem(slug) is None
        else f"{clip(slug.replace('/', '-'), _SHORTENED)}-{_short_digest(name)}"
    )


def id_problem(resource_id: str) -> str | None:
    """Return why a text cannot be the id of a new resource of any kind, or None if it can."""
    return ids.problem(resource_id, ids.RESERVED_FOR_NEW | ids.RESERVED_FOR_SCORERS)


def external_id(item: Mapping[str, Any], counts: dict[str, int]) -> str:
    """Return an id made of the item's content; equal items are numbered."""
    digest = canonical.digest(item)[:32]
    counts[digest] = counts.get(digest, 0) + 1
    return digest if counts[digest] == 1 else f"{digest}-{counts[digest]}"


def objects(value: Any) -> list[dict[str, Any]]:
    """Return the objects in a list; none for anything else."""
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def an_object(value: Any) -> dict[str, Any]:
    """Return an object; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def a_text(value: Any) -> str:
    """Return a text; an empty one for anything else."""
    return value if isinstance(value, str) else ""


def excerpt(text: object) -> str:
    """Return a text of a source for messages: one short line, without control characters."""
    line = clip(str(text), 4 * MAX_SHOWN)
    safe = "".join(
        character if character.isprintable() or character in _JOINERS else repr(character)[1:-1]
        for character in line
    )
    return safe if len(safe) <= 2 * MAX_SHOWN else f"{clip(safe, 2 * MAX_SHOWN - 1)}…"


def _short_digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:8]


REMOVED: Final = "[credential removed]"
CODE: Final = "credential"
_KEY: Final = re.compile(
    r"(?:.*_)?(?:api_?key|authorization|auth|password|passwd|passphrase|secret|secret_?key|access_?key"
    r"|(?:access|auth|bearer|refresh|session|id|personal_access)_?token|token|credentials?|connection"
    r"|connection_?string|private_?key|client_?secret|cookies?|dsn)"
)
_VALUE: Final = re.compile(
    # Lookaheads are bounded: a text of many beginnings would take quadratic time.
    r"\b(?:sk|pk|rk)-(?=[A-Za-z_-]{0,100}[0-9])[A-Za-z0-9_-]{16,}"
    r"|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}"
    r"|\bxox[abprs]-[\w-]{10,}|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[\w-]{30,}|\bhf_[A-Za-z0-9]{20,}"
    r"|\blsv2_[a-z]{2}_\w{16,}|\bek_[\w-]{30,}|\beyJ[\w-]{8,500}\.eyJ[\w-]{8,2000}\.[\w-]{8,}"
    r"|-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----|(?i:\bbearer )(?=[\w.~+/-]{0,100}[0-9])[\w.~+/-]{20,}=*"
    r"|(?<=://)[^\s/:@]{1,100}:[^\s/@]{1,100}(?=@)"
)


def remove_credentials(value: Any, collection: Collection, where: str, *, by_name: bool = True) -> Any:
    """Return a JSON value without credentials, and note where each was.

    `by_name` also checks the names of members; not for data such as the variables of a test.
    """
    if isinstance(value, str):
        return _in_text(value, collection, where)
    if isinstance(value, list):
        return [
            remove_credentials(entry, collection, f"{where}.{place}", by_name=by_name)
            for place, entry in enumerate(value)
        ]
    if not isinstance(value, dict):
        return value
    cleaned = {}
    for name, member in value.items():
        place = f"{where}.{excerpt(name)}"
        is_named = by_name and _KEY.fullmatch(
            re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[-. ]", "_", name[-200:]).lower()
        )
        if is_named and member not in (None, ""):
            collection.lose(CODE, place, "A credential is left out.")
        else:
            cleaned[_in_text(name, collection, where)] = remove_credentials(
                member, collection, place, by_name=by_name
            )
    return cleaned


def _in_text(text: str, collection: Collection, where: str) -> str:
    clean_text, count = _VALUE.subn(REMOVED, text)
    if count:
        collection.lose(CODE, where, "What looks like a credential is left out of the text.")
    return clean_text


UNKNOWN: Final = "unknown_member"


class Members:
    """The members of an object; any other value has none and is left."""

    def __init__(self, value: Any, collection: Collection, where: str) -> None:
        self.collection = collection
        self.where = where
        self._remaining: dict[str, Any] = {}
        if isinstance(value, dict):
            self._remaining = dict(value)
        elif value is not None:
            self._remaining = {"": value}

    def __contains__(self, name: str) -> bool:
        return name in self._remaining

    def names(self) -> list[str]:
        """Return the names of the remaining members."""
        return list(self._remaining)

    def peek(self, name: str) -> Any:
        """Return a member without taking it; None if there is none."""
        return self._remaining.get(name)

    def take(self, name: str, default: Any = None) -> Any:
        """Take a member of any type."""
        return self._remaining.pop(name, default)

    def skip(self, *names: str) -> None:
        """Take members that are irrelevant to a prompt, such as the time of an answer."""
        for name in names:
            self._remaining.pop(name, None)

    def text(self, name: str) -> str:
        """Take a text; anything else is left, and an empty text returned."""
        value = self._remaining.get(name)
        if not isinstance(value, str):
            return ""
        return str(self._remaining.pop(name))

    def mapping(self, name: str) -> dict[str, Any]:
        """Take an object; anything else is left, and an empty one returned."""
        if not isinstance(self._remaining.get(name), dict):
            return {}
        value: dict[str, Any] = self._remaining.pop(name)
        return value

    def members(self, name: str) -> Members:
        """Take the members of an object; anything else is left here."""
        return Members(self.mapping(name), self.collection, f"{self.where}, {name}")

    def take_list(self, name: str) -> list[Any]:
        """Take a list; anything else is left, and an empty one returned."""
        if not isinstance(self._remaining.get(name), list):
            return []
        value: list[Any] = self._remaining.pop(name)
        return value

    def objects(self, name: str) -> list[dict[str, Any]]:
        """Take the objects in a list; other entries are left."""
        entries = self.take_list(name)
        objects = [entry for entry in entries if isinstance(entry, dict)]
        if other_entries := [entry for entry in entries if not isinstance(entry, dict)]:
            self._remaining[name] = other_entries
        return objects

    def take_rest(self, *, code: str = UNKNOWN, by_name: bool = True) -> dict[str, Any]:
        """Return the remaining members, without credentials, and note each as a loss.

        `by_name` is as in `remove_credentials`.
        """
        members = {name: value for name, value in self._remaining.items() if value is not None}
        rest: dict[str, Any] = remove_credentials(members, self.collection, self.where, by_name=by_name)
        for name, value in rest.items():
            subject = excerpt(name) if name else f"{excerpt(value)}, which is not what is expected here,"
            message = f"The editor has no place for {subject}: metadata.import has it."
            self.collection.lose(code, self.where, message)
        self._remaining = {}
        return {name or "value": value for name, value in rest.items()}


def nonempty(**parts: Any) -> dict[str, Any]:
    """Return those parts of `metadata.import` that are not empty."""
    return {name: part for name, part in parts.items() if part}
