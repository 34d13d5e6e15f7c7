"""Methods of both clients, from one description each.

A description returns the `Call` to make, or the `Source` to iterate over; it performs no I/O. The blocking
client's method returns the result, the asynchronous client's a coroutine, and iterators accordingly. They
have the name, arguments and docstring of the description.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from dataclasses import fields
from functools import partial, wraps
from types import MethodType
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Generic,
    Literal,
    ParamSpec,
    Protocol,
    Self,
    TypedDict,
    TypeVar,
    overload,
)

from editor_client.calls import Answer, Call, Query, Source, query, reading, segment
from editor_client.errors import EditorError
from editor_client.result import Result, camel


class HasId(Protocol):
    """An item of a list."""

    @property
    def id(self) -> str:
        """Its id."""


T = TypeVar("T")
Entry = TypeVar("Entry", bound=HasId)
PageT = TypeVar("PageT", bound="Page[Any]")


class Paging(TypedDict, total=False):
    """A page of a list, counted from 0, its size, and the order of the list."""

    page: int
    per_page: int
    order_by: str
    direction: Literal["ASC", "DESC"]


class Page(Result, Generic[T]):
    """A page of a list. The last member of each subclass has the entries, under the list's own name."""

    total: int
    page: int
    per_page: int
    has_more: bool

    @classmethod
    def of(cls, raw: Any, **own: Any) -> Self:
        """Return the page in an answer, whose paging may be in a separate object."""
        paging = raw.get("pagination") if isinstance(raw, dict) else None
        return super().of({**raw, **paging} if isinstance(paging, dict) else raw, **own)

    @property
    def entries(self) -> tuple[T, ...]:
        """The items on the page."""
        entries: tuple[T, ...] = getattr(self, fields(self)[-1].name)
        return entries


def listing(path: str, result: type[PageT], arguments: Any) -> Call[PageT]:
    """Describe the call that returns a page of a list; `arguments` are filters, order and page."""
    filters = {name: value for name, value in arguments.items() if name not in Paging.__annotations__}
    if not isinstance(filters.get("tag", ""), str):
        filters["tag"] = ",".join(filters["tag"])
    return Call.to("GET", path, reading(result), query=(*paging(arguments), *query(**filters)))


def paging(page: Paging) -> Query:
    """Return the parameters for a page of a list and its order."""
    order = {"orderBy[field]": page.get("order_by"), "orderBy[direction]": page.get("direction")}
    ordered = tuple((name, camel(value)) for name, value in order.items() if value is not None)
    return (*query(page=page.get("page"), per_page=page.get("per_page")), *ordered)


class Pages(Source[Entry]):
    """All entries of a list, page by page; `call` describes a page by its number `page` and `per_page`.

    If the server reports that a page would be too large, the following pages are smaller.
    """

    def __init__(self, call: Callable[..., Call[Page[Entry]]]) -> None:
        self._call = call
        self._next: int | None = 0
        self._size: int | None = None
        self._smaller: dict[str, int] = {}
        self._seen: set[str] = set()

    @classmethod
    def of(cls, path: str, result: type[Page[Entry]], arguments: Any) -> Pages[Entry]:
        """Return all entries of the list at an address; `arguments` are filters and order."""
        return cls(lambda **page: listing(path, result, {**arguments, **page}))

    def next_call(self) -> Call[Page[Entry]] | None:
        """Return the call for the next page; None if there is none."""
        if self._next is None:
            return None
        return self._call(page=self._next, **self._smaller)

    def shrink(self, error: EditorError) -> None:
        """Request smaller pages from here on; raises the error if it is not about the size of a page."""
        fits = error.details.get("perPage")
        if error.code != "page_too_large" or not isinstance(fits, int) or fits < 1:
            raise error
        if self._next:
            # The earlier items fill whole pages of a smaller size only if that divides the size.
            size = self._size or 1
            fits = max(
                (length for length in range(1, min(fits, size - 1) + 1) if size % length == 0), default=0
            )
            if not fits:
                raise error
            self._next *= size // fits
        elif self._size is not None and fits >= self._size:
            raise error
        self._size, self._smaller = fits, {"per_page": fits}

    def new_entries(self, page: Page[Entry]) -> Iterator[Entry]:
        """Yield the new items of a page.

        Items created in the meantime shift the list, so that the last items of one page can be repeated on
        the next.
        """
        self._next, self._size = page.page + 1 if page.has_more else None, page.per_page
        for entry in page.entries:
            if entry.id not in self._seen:
                self._seen.add(entry.id)
                yield entry


P = ParamSpec("P")
T_co = TypeVar("T_co", covariant=True)
R = TypeVar("R", bound=Result)


class Driver(ABC):
    """A client, which performs the calls of its methods."""

    awaits: bool
    """Whether its methods are awaited."""

    @property
    def _client(self) -> Driver:
        return self


class Blocking(Driver):
    """The client for threads."""

    awaits = False

    @abstractmethod
    def perform(self, call: Call[T]) -> T:
        """Make a call, within the rules of the cache, and return its result."""

    @abstractmethod
    def iterate(self, source: Source[T]) -> Iterator[T]:
        """Yield the items of a source."""


class Awaiting(Driver):
    """The client for coroutines."""

    awaits = True

    @abstractmethod
    async def perform(self, call: Call[T]) -> T:
        """Make a call, within the rules of the cache, and return its result."""

    @abstractmethod
    def iterate(self, source: Source[T]) -> AsyncIterator[T]:
        """Yield the items of a source."""


D_co = TypeVar("D_co", bound=Driver, covariant=True)


class Handle(Generic[D_co]):
    """A resource of the server, by id, and the client for its methods; creating it sends no request."""

    def __init__(self, client: D_co, resource_id: str, path: str) -> None:
        self._client = client
        self.id = resource_id
        self._path = path


class _Described:
    """A description and the two methods made from it."""

    def __init__(
        self, describe: Callable[..., Any], blocking: Callable[..., Any], awaiting: Callable[..., Any]
    ) -> None:
        self.__doc__ = describe.__doc__
        self.describe = describe
        self._blocking = wraps(describe)(blocking)
        self._awaiting = wraps(describe)(awaiting)

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is not None:
            return MethodType(self._awaiting if instance._client.awaits else self._blocking, instance)  # noqa: SLF001
        if issubclass(owner, Driver):
            return self._awaiting if issubclass(owner, Awaiting) else self._blocking
        return self.describe


class Method(_Described, Generic[P, T_co]):
    """A method that makes a call."""

    def __init__(self, describe: Callable[Concatenate[Any, P], Call[T_co]]) -> None:
        def blocking(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T_co:
            result: T_co = self._client.perform(describe(self, *args, **kwargs))
            return result

        async def awaiting(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T_co:
            result: T_co = await self._client.perform(describe(self, *args, **kwargs))
            return result

        super().__init__(describe, blocking, awaiting)

    if TYPE_CHECKING:

        @overload
        def __get__(self, instance: None, owner: type) -> Callable[..., Any]: ...
        @overload
        def __get__(self, instance: Blocking | Handle[Blocking], owner: type) -> Callable[P, T_co]: ...
        @overload
        def __get__(
            self, instance: Awaiting | Handle[Awaiting], owner: type
        ) -> Callable[P, Coroutine[Any, Any, T_co]]: ...
        def __get__(self, instance: Any, owner: type) -> Any: ...


class IteratorMethod(_Described, Generic[P, T]):
    """A method that returns an iterator."""

    def __init__(self, describe: Callable[Concatenate[Any, P], Source[T]]) -> None:
        def method(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> Any:
            return self._client.iterate(describe(self, *args, **kwargs))

        super().__init__(describe, method, method)

    if TYPE_CHECKING:

        @overload
        def __get__(self, instance: None, owner: type) -> Callable[..., Any]: ...
        @overload
        def __get__(self, instance: Blocking | Handle[Blocking], owner: type) -> Callable[P, Iterator[T]]: ...
        @overload
        def __get__(
            self, instance: Awaiting | Handle[Awaiting], owner: type
        ) -> Callable[P, AsyncIterator[T]]: ...
        def __get__(self, instance: Any, owner: type) -> Any: ...


method, iterator = Method, IteratorMethod
"""The decorators of descriptions."""


def iterating(list_method: Method[P, Page[Entry]]) -> IteratorMethod[P, Entry]:
    """Return the method that yields all entries of a list, made from the one that reads a page of it."""

    @wraps(list_method.describe)
    def entries(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> Pages[Entry]:
        if "page" in kwargs:
            raise TypeError("all pages are read, so there is no `page` to choose")
        return Pages(partial(list_method.describe, self, *args, **kwargs))

    entries.__name__ = list_method.describe.__name__.replace("list", "iter", 1)
    entries.__doc__ = f"Iterate over all entries of `{list_method.describe.__name__}`, page by page."
    return IteratorMethod(entries)


class ById(Handle[D_co], Generic[D_co, R]):
    """A resource below the address of its list, whose record is of the type `R`."""

    _address: str
    _record: type[R]

    def __init__(self, client: D_co, resource_id: str) -> None:
        super().__init__(client, resource_id, f"{self._address}/{segment('id', resource_id)}")

    @property
    def _read(self) -> Callable[[Answer], R]:
        """Reads its record from an answer."""
        return reading(self._record, id=self.id)

    @method
    def details(self) -> Call[R]:
        """Read it in its current state."""
        return Call.to("GET", self._path, self._read)
