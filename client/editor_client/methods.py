"""Methods of both clients, from one description each.

A description returns the `Call` to make, or the `Source` to iterate over; it performs no I/O. The blocking
client's method returns the result, the asynchronous client's a coroutine, and iterators accordingly. They
have the name, arguments and docstring of the description.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from functools import partial, wraps
from types import MethodType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from editor_client.calls import Answer, Call, Source, reading, segment
from editor_client.pages import HasId, Page, Pages
from editor_client.result import Result

P = ParamSpec("P")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
Entry = TypeVar("Entry", bound=HasId)
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


def iterating(listed: Method[P, Page[Entry]]) -> IteratorMethod[P, Entry]:
    """Return the method that yields all entries of a list, made from the one that reads a page of it."""

    @wraps(listed.describe)
    def entries(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> Pages[Entry]:
        if "page" in kwargs:
            raise TypeError("all pages are read, so there is no `page` to choose")
        return Pages(partial(listed.describe, self, *args, **kwargs))

    entries.__name__ = listed.describe.__name__.replace("list", "iter", 1)
    entries.__doc__ = f"Iterate over all entries of `{listed.describe.__name__}`, page by page."
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
