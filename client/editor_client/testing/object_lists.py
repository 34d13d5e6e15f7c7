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
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from editor_client.shared import canonical
from editor_client.shared.errors import Invalid
from editor_client.testing.protocol import (
    Answer,
    Handler,
    Json,
    Refused,
    Request,
    done,
    not_done,
    not_found,
    refuse_unknown,
    required,
    route,
)
from editor_client.testing.resources import Resource, now

PAGING: Final = ("page", "perPage", "orderBy[field]", "orderBy[direction]")


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
        return all(in_query(facts.get(name)) == in_query(value) for name, value in filters.items())


def in_query(value: Any) -> str:
    """Return a value as a filter has it."""
    return value if isinstance(value, str) else canonical.dump(value)


Make = Callable[..., Row]
"""Returns a new object, or one that is already there, given the editor, the members and the owners' ids."""


def made(editor: Any, given: Json, *owners: str) -> Row:
    """Return an object with the members of the body, an id and times."""
    about = {"id": str(uuid.uuid4()), **given, "createdAt": now(), "updatedAt": now()}
    return Row(about, owners=owners)


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
        changed: Callable[[Any, tuple[str, ...], Sequence[Row]], None] = lambda *_: None,
        changeable: Iterable[str] = (),
        actions: Iterable[str] = ("list", "create", "read", "change", "delete"),
        is_by_resource: bool = False,
        nests_paging: bool = False,
        direction: str = "DESC",
    ) -> None:
        """Register the routes.

        member        the member of an answer that lists the objects
        needed        the members that a new object needs
        optional      its other members, with their values where the body has none
        filters       the parameters of the list
        changed       called after a change, with the owners' ids, and the objects that are new or changed
        changeable    the members that `PATCH` accepts
        actions       which of the routes there are
        is_by_resource  whether the list needs `kind` and `id` of a resource that exists
        nests_paging  whether the list has its paging in an object of its own, and 10 on a page, not 100
        direction     the order by default: `DESC`, newest first, or `ASC`
        """
        self._path, self._member = path, member
        self._needed, self._optional, self._changeable = tuple(needed), optional, tuple(changeable)
        self._make, self._changed = make, changed
        self._paging: dict[str, Any] = {"size": 10 if nests_paging else 100, "nests_paging": nests_paging}
        self._is_by_resource, self._direction = is_by_resource, direction
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

    def rows(self, editor: Any, owners: tuple[str, ...] | None = None) -> list[Row]:
        """Return all objects, newest first, or those of one list."""
        found: list[Row] = editor.rows[self._path]
        return found if owners is None else [row for row in found if row.owners == owners]

    def row(self, editor: Any, request: Request) -> Row:
        """Return the object of a request; raises `Refused` if there is none."""
        return self.by_id(editor, *request.names[: self._path.count("*") + 1])

    def by_id(self, editor: Any, *ids: str) -> Row:
        """Return an object by its owners' ids and its own; raises `Refused` if there is none."""
        found = (row for row in self.rows(editor, ids[:-1]) if row.content["id"] == ids[-1])
        row = next(found, None)
        if row is None:
            raise not_found()
        return row

    def add(
        self, editor: Any, owners: tuple[str, ...], bodies: Iterable[Mapping[str, Any]]
    ) -> tuple[list[Row], list[Row]]:
        """Add objects, all or none; returns them, and those that are new."""
        rows = self.rows(editor)
        before, found, new = rows[:], list[Row](), list[Row]()
        try:
            for body in bodies:
                refuse_unknown(body, (*self._needed, *self._optional))
                required(body, *self._needed)
                found.append(self._make(editor, {**self._optional, **body}, *owners))
                if found[-1] not in rows:
                    rows.insert(0, found[-1])
                    new.append(found[-1])
        except (Refused, Invalid):
            rows[:] = before
            raise
        if new:
            self._changed(editor, owners, new)
        return found, new

    def remove(self, editor: Any, owners: tuple[str, ...], gone: Sequence[Row]) -> None:
        """Delete objects, with what belongs to them."""
        ids = {(*owners, row.content["id"]) for row in gone}
        self.rows(editor)[:] = [row for row in self.rows(editor) if row not in gone]
        for rows in editor.rows.values():
            rows[:] = [row for row in rows if row.owners[: len(owners) + 1] not in ids]
        if gone:
            self._changed(editor, owners, ())

    def page(self, request: Request, rows: Iterable[Row]) -> Answer:
        """Answer a page of objects, which are given newest first."""
        field = request.query.get("orderBy[field]", "createdAt")
        if field != "createdAt":
            raise not_done(f"the order by {field!r}")
        shown = [row.content for row in rows]
        if request.query.get("orderBy[direction]", self._direction) == "ASC":
            shown.reverse()
        return request.page(self._member, shown, **self._paging)

    def _create(self, editor: Any, request: Request) -> Answer:
        [row], new = self.add(editor, request.names, [request.body])
        return Answer(row.content, status=201 if new else 200)

    def _list(self, editor: Any, request: Request) -> Answer:
        if self._is_by_resource:
            editor.named(*required(request.query, "kind", "id"))
        wanted = {name: value for name, value in request.query.items() if name not in PAGING}
        rows = self.rows(editor, request.names)
        return self.page(request, (row for row in rows if row.matches(wanted)))

    def _change(self, editor: Any, request: Request) -> Answer:
        refuse_unknown(request.body, self._changeable)
        row = self.row(editor, request)
        if not canonical.same(row.content, {**row.content, **request.body}):
            row.content |= {**request.body, "updatedAt": now()}
            self._changed(editor, row.owners, [row])
        return Answer(row.content)

    def _delete(self, editor: Any, request: Request) -> Answer:
        row = self.row(editor, request)
        self.remove(editor, row.owners, [row])
        return done(f"The {self._member.removesuffix('s')} is deleted.")
