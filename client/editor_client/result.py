"""The results of calls: typed, read-only, and with access to members that a newer server adds.

A result is also a mapping of the server's answer, with its JSON names: `record.active_version_id` and
`record["activeVersionId"]` are the same, and the second form also reads members that this client does not
know yet.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from functools import lru_cache
from types import NoneType, UnionType
from typing import (
    Any,
    NamedTuple,
    NoReturn,
    Self,
    TypedDict,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

from editor_client.errors import malformed

Reader = Callable[[Any], Any]


@dataclass_transform(
    frozen_default=True, kw_only_default=True, eq_default=False, field_specifiers=(field, Field)
)
class _Typed:
    """The base of results: each class derived from it is a dataclass."""

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        dataclass(frozen=True, kw_only=True, eq=False)(cls)


class Result(_Typed, Mapping[str, Any]):
    """An answer of the server. The annotation of a member determines how it is read.

    Every result is a frozen dataclass, whose members are given by keyword.
    """

    raw: Mapping[str, Any] = field(repr=False, metadata={"own": True})
    """The whole answer of the server, under the JSON names."""

    @classmethod
    def of(cls, raw: Any, **own: Any) -> Self:
        """Return the result in an answer; `own` are members that the client itself adds.

        Raises `ServerError` if the answer does not have the members of this result.
        """
        if not isinstance(raw, dict):
            raise malformed("a JSON object is missing")
        values = {}
        for member in members(cls):
            if member.json_name in raw:
                try:
                    values[member.name] = member.read(raw[member.json_name])
                except (TypeError, ValueError):
                    raise malformed(f"its {member.json_name!r} has the wrong type") from None
            elif member.required:
                raise malformed(f"it has no {member.json_name!r}")
        return cls(raw=frozen(raw), **values, **own)

    def __getitem__(self, name: str) -> Any:
        return self.raw[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.raw)

    def __len__(self) -> int:
        return len(self.raw)


class CachedResult(Result):
    """A result that the client caches in case the server does not answer later."""

    stale: bool = field(default=False, metadata={"own": True})
    """Whether this is an earlier answer because the server did not answer this time."""
    etag: str | None = field(default=None, repr=False, metadata={"own": True})
    """The state that was read; `base=` sends it back, so that no change by others is overwritten."""

    @property
    def shown_block_ids(self) -> tuple[str, ...]:
        """The prompt blocks on which the answer depends."""
        return ()


class Notice(Result):
    """Information for the caller although the request succeeded."""

    code: str
    message: str
    field: str | None = None
    placeholders: tuple[str, ...] = ()
    """With `unresolved_placeholder`: the paths without a value in the context."""
    position: int | None = None
    """With `invisible_characters`: their offset in characters."""
    code_point: str | None = None
    """The first of them, such as `U+200B`."""


class Success(Result):
    """The request succeeded."""

    success: bool
    message: str


class Member(NamedTuple):
    """The reader of a result's member from an answer."""

    name: str
    json_name: str
    read: Reader
    required: bool


@lru_cache
def members(result: type[Result]) -> tuple[Member, ...]:
    """Return the members of a result, without those that the client itself adds."""
    kinds = get_type_hints(result)
    return tuple(
        Member(
            member.name,
            member.metadata.get("json_name", camel(member.name)),
            _reader(kinds[member.name]),
            member.default is MISSING and member.default_factory is MISSING,
        )
        for member in fields(result)
        if "own" not in member.metadata
    )


def _reader(kind: Any) -> Reader:
    """Return a function that reads a JSON value of this type, or raises for any other."""
    inner = [part for part in get_args(kind) if part not in {NoneType, Ellipsis}]
    if get_origin(kind) is UnionType and len(inner) == 1:
        read = _reader(inner[0])
        return lambda value: None if value is None else read(value)
    if get_origin(kind) is tuple:
        return _list_reader(_reader(inner[0]))
    if isinstance(kind, type) and issubclass(kind, Result):
        return kind.of
    if kind is datetime.datetime:
        return datetime.datetime.fromisoformat
    return _exactly(kind) if kind in {str, int, bool} else frozen


def _list_reader(read: Reader) -> Reader:
    def read_list(value: Any) -> Any:
        if not isinstance(value, list):
            raise TypeError
        return tuple(map(read, value))

    return read_list


def _exactly(kind: type) -> Reader:
    def read(value: Any) -> Any:
        # An instance of an application's subclass of str is a text; a boolean is not a number.
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise TypeError
        return value

    return read


# JSON values that cannot be changed, because many readers share cached values


def _refuse(self: object, *args: object, **kwargs: object) -> NoReturn:
    raise TypeError("an answer is read-only, because others read it too; change a copy of it")


class ReadOnlyDict(dict[str, Any]):
    """A JSON object that cannot be changed; `copy.deepcopy` gives a plain one."""

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __deepcopy__(self, memo: object) -> dict[str, Any]:
        return {key: thaw(value) for key, value in self.items()}

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


class ReadOnlyList(list[Any]):
    """A JSON list that cannot be changed; `copy.deepcopy` gives a plain one."""

    __slots__ = ()
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __deepcopy__(self, memo: object) -> list[Any]:
        return [thaw(value) for value in self]

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)


def frozen(value: Any) -> Any:
    """Return an equal JSON value that cannot be changed, at any level."""
    if isinstance(value, dict):
        return ReadOnlyDict((key, frozen(member)) for key, member in value.items())
    if isinstance(value, list):
        return ReadOnlyList(map(frozen, value))
    return value


def thaw(value: Any) -> Any:
    """Return an equal JSON value that the caller may change."""
    if isinstance(value, dict):
        return {key: thaw(member) for key, member in value.items()}
    if isinstance(value, list):
        return [thaw(member) for member in value]
    return value


# Names: snake_case in Python, camelCase in JSON


@lru_cache(maxsize=1024)
def camel(name: str) -> str:
    """Return the JSON name for a Python one; a JSON name is returned unchanged."""
    first, *rest = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in rest)


def with_json_names(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the same fields under their JSON names, with unchanged values.

    A reason to bypass approvals or evidence becomes an object with the reason.
    """
    json_fields = {camel(name): value for name, value in fields.items()}
    return json_fields | bypassing(fields)


class Reasons(TypedDict, total=False):
    """An admin's reasons to publish anyway."""

    bypass_review: str | None
    """Without the required approvals."""
    bypass_evaluation: str | None
    """Without the evidence that gates require."""


def bypassing(arguments: Mapping[str, Any] | Reasons) -> dict[str, Any]:
    """Return the body's members for the reasons among some arguments; empty without any."""
    reasons = {name: arguments.get(name) for name in Reasons.__annotations__}
    return {camel(name): {"reason": reason} for name, reason in reasons.items() if reason is not None}
