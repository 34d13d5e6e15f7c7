"""Lists of JSON objects in the editor in memory: a new resource is one declaration.

    Collection("/datasets", "datasets", needed=["name"], optional={"description": None},
               changeable=["name", "description"])

gives `GET` and `POST /datasets`, and `GET`, `PATCH` and `DELETE /datasets/*`, with the refusals of a server.
A module with such declarations is imported by `editor_client.testing.transport`. A `*` in the path stands for
the id of the object to which a list belongs, as in `/datasets/*/items`. `make` completes a new object where
its members alone do not tell it. A route of another form is a function, registered by `protocol.route`.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from editor_client.testing.protocol import (
    Answer,
    Handler,
    Json,
    Request,
    done,
    not_found,
    refuse_unknown,
    required,
    route,
)
from editor_client.testing.resources import Resource, now

PAGING: Final = ("page", "perPage")


@dataclass(eq=False)
class Row:
    """An object of a list, as the API shows it, and what it is about or belongs to."""

    content: Json
    about: Resource | None = None
    """The resource whose deletion deletes it."""
    owners: tuple[str, ...] = ()
    """The ids in the path of its list."""

    def matches(self, filters: Mapping[str, Any]) -> bool:
        """Return whether its members, and kind and id of the resource, have these values."""
        facts = {**self.content, **(self.about.reference if self.about else {})}
        return all(str(facts.get(name)).lower() == str(value).lower() for name, value in filters.items())


Make = Callable[[Any, Json], Row]
"""Returns a new object, or one that is already there, given the editor and all members of the body."""


def made(editor: Any, given: Json) -> Row:
    """Return an object with the members of the body, an id and times."""
    return Row({"id": str(uuid.uuid4()), **given, "createdAt": now(), "updatedAt": now()})


class Collection:
    """A list of objects, newest first, with its routes."""

    def __init__(
        self,
        path: str,
        member: str,
        *,
        needed: Iterable[str] = (),
        optional: Mapping[str, Any] = MappingProxyType({}),
        filters: Iterable[str] = (),
        make: Make = made,
        changeable: Iterable[str] = (),
        actions: Iterable[str] = ("list", "create", "read", "change", "delete"),
        is_by_resource: bool = False,
        nests_paging: bool = False,
        page_size: int = 100,
    ) -> None:
        """Register the routes.

        member        the member of an answer that lists the objects
        needed        the members that a new object needs
        optional      its other members, with their values where the body has none
        filters       the parameters of the list
        changeable    the members that `PATCH` accepts
        actions       which of the routes there are
        is_by_resource  whether the list needs `kind` and `id` of a resource that exists
        nests_paging  whether the list has its paging in an object of its own
        page_size     how many are on a page by default
        """
        self._path, self._member = path, member
        self._needed, self._optional, self._changeable = tuple(needed), optional, tuple(changeable)
        self._make, self._nests_paging, self._page_size = make, nests_paging, page_size
        self._is_by_resource = is_by_resource
        routes: dict[str, tuple[str, str, Iterable[str], Handler]] = {
            "list": ("GET", path, (*PAGING, *filters), self._list),
            "create": ("POST", path, (), self._create),
            "read": ("GET", f"{path}/*", (), lambda *request: Answer(self.row(*request).content)),
            "change": ("PATCH", f"{path}/*", (), self._change),
            "delete": ("DELETE", f"{path}/*", (), self._delete),
        }
        for action in actions:
            method, own_path, parameters, handler = routes[action]
            route(method, own_path, *parameters)(handler)

    def rows(self, editor: Any) -> list[Row]:
        """Return all objects, newest first."""
        found: list[Row] = editor.rows[self._path]
        return found

    def row(self, editor: Any, request: Request) -> Row:
        """Return the object of a request; raises `Refused` if there is none."""
        depth = self._path.count("*")
        owners, row_id = request.names[:depth], request.names[depth]
        found = (one for one in self.rows(editor) if (one.owners, one.content["id"]) == (owners, row_id))
        row = next(found, None)
        if row is None:
            raise not_found()
        return row

    def _create(self, editor: Any, request: Request) -> Answer:
        refuse_unknown(request.body, (*self._needed, *self._optional))
        required(request.body, *self._needed)
        row = self._make(editor, {**self._optional, **request.body})
        if row in self.rows(editor):
            return Answer(row.content)
        row.owners = request.names
        self.rows(editor).insert(0, row)
        return Answer(row.content, status=201)

    def _list(self, editor: Any, request: Request) -> Answer:
        if self._is_by_resource:
            editor.named(*required(request.query, "kind", "id"))
        wanted = {name: value for name, value in request.query.items() if name not in PAGING}
        mine = [row for row in self.rows(editor) if row.owners == request.names and row.matches(wanted)]
        found = [row.content for row in mine]
        return request.page(self._member, found, size=self._page_size, nests_paging=self._nests_paging)

    def _change(self, editor: Any, request: Request) -> Answer:
        refuse_unknown(request.body, self._changeable)
        row = self.row(editor, request)
        row.content |= {**request.body, "updatedAt": now()}
        return Answer(row.content)

    def _delete(self, editor: Any, request: Request) -> Answer:
        self.rows(editor).remove(self.row(editor, request))
        for rows in editor.rows.values():
            rows[:] = [row for row in rows if row.owners[: len(request.names)] != request.names]
        return done("It is deleted.")
