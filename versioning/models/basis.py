"""What an answer is made of: the pointers that it depends on, read with one narrow statement.

Snapshots never change, so an answer that was made of a certain basis is right for as long as the
basis reads the same. Revisions only rise, and whatever takes the place of a deleted resource has
versions of other ids: what has changed once never reads the same again.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from django.contrib.auth import get_user_model
from django.db.models import Count, Max, OuterRef, QuerySet, Subquery, TextField, Value
from django.db.models.functions import Cast, Coalesce, Concat
from django.utils import timezone

from versioning.domain.access import Caller, Rights, Role
from versioning.models.accounts import name_of
from versioning.models.agents import Agent, AgentLabel, BlockReference
from versioning.models.favorites import Favorite
from versioning.models.keys import LAST_USED_STEP, USABLE, ApiKey, digest_of, limited
from versioning.models.prepared import prepared_cursor
from versioning.models.prompts import PromptBlock
from versioning.models.references import Reference
from versioning.models.versioned import VersionedResource
from versioning.models.workspaces import Membership, caller_with

MOST_ROWS: Final = 200
"""An answer that is made of more than so many rows is not worth keeping."""

_USERS: Final[Any] = get_user_model()._meta
_TABLES: Final = {
    "key": ApiKey._meta.db_table,
    "user": _USERS.db_table,
    "user_pk": _USERS.pk.column,
    "username": _USERS.get_field(get_user_model().USERNAME_FIELD).column,
    "membership": Membership._meta.db_table,
    "agent": Agent._meta.db_table,
    "block": PromptBlock._meta.db_table,
    "reference": BlockReference._meta.db_table,
    "favorite": Favorite._meta.db_table,
    "label": AgentLabel._meta.db_table,
}

# Every statement below yields what a row is about, and five texts. They come back as one row, as a
# text that is only compared: SQLite lets go of the interpreter's lock for each row, and getting it
# back among many threads takes longer than reading the row.
_AS_TEXT: Final = {
    "sqlite": "json_group_array(json_array(a, b, c, d, e, f))",
    "postgresql": "CAST(json_agg(json_build_array(a, b, c, d, e, f)) AS text)",
}
_ROWS: Final = "WITH basis(a, b, c, d, e, f) AS ({basis}) SELECT COUNT(*), {text} FROM basis"
_ROWS_BY: Final = (
    "WITH holder(a, b, c, d, e, f) AS ({holder}), basis(a, b, c, d, e, f) AS ({basis})"
    " SELECT COUNT(*), {text}, (SELECT {text} FROM holder) FROM basis"
)

# A key whose last use has to be noted anew is none of these: noting it is the ordinary way's.
_KEY: Final = """
SELECT 'key', k.workspace_id, k.role, CASE WHEN u.is_superuser THEN 'superuser' END,
  CAST(k.owner_id AS text), NULL
FROM {key} k JOIN {user} u ON u.{user_pk} = k.owner_id
WHERE k.digest = %s AND {usable} AND k.last_used_at > %s
UNION ALL
SELECT 'role', m.workspace_id, m.role, NULL, NULL, NULL
FROM {key} k JOIN {membership} m ON m.user_id = k.owner_id
WHERE k.digest = %s
""".format(usable=USABLE, **_TABLES)

_ROW: Final = """
SELECT 'resource', r.id, CAST(r.revision AS text), CAST(r.active_version_id AS text),
  CAST(r.latest_version_id AS text), u.{username}
FROM {table} r LEFT JOIN {user} u ON u.{user_pk} = r.author_id
WHERE r.id = %s
"""
_RECORD: Final[dict[type[VersionedResource], str]] = {
    model: _ROW.format(table=model._meta.db_table, **_TABLES) for model in (Agent, PromptBlock)
}

_SERVED: Final = (
    _RECORD[Agent]
    + """
UNION ALL
SELECT 'block', f.target_id, CAST(b.revision AS text), CAST(b.active_version_id AS text),
  CAST(b.latest_version_id AS text), NULL
FROM {agent} a JOIN {reference} f ON f.version_id = COALESCE(a.active_version_id, a.latest_version_id)
  LEFT JOIN {block} b ON b.id = f.target_id
WHERE a.id = %s
""".format(**_TABLES)
)

# Ids only rise: as long as their number and the highest are the same, so are all of them.
_FAVORITES: Final = """
UNION ALL
SELECT 'favorites', CAST(COUNT(*) AS text), CAST(MAX(v.id) AS text), NULL, NULL, NULL
FROM {favorite} v WHERE v.agent_id = %s
""".format(**_TABLES)

_REFERRING: Final = """
SELECT a.id, a.revision, a.active_version_id, a.latest_version_id
FROM {{reference}} f {join} WHERE f.target_id = %s
"""
_DEPENDENTS: Final = """
UNION ALL
SELECT 'dependent', d.id, CAST(d.revision AS text), CAST(d.active_version_id AS text),
  CAST(d.latest_version_id AS text), NULL
FROM ({referring} LIMIT {most}) d
""".format(
    most=MOST_ROWS + 1,
    referring="UNION".join(  # a published version, a draft, one that a released label may be on
        _REFERRING.format(join=join.format(**_TABLES))
        for join in (
            "JOIN {agent} a ON a.active_version_id = f.version_id",
            "JOIN {agent} a ON a.latest_version_id = f.version_id",
            "JOIN {label} l ON l.version_id = f.version_id JOIN {agent} a ON a.id = l.resource_id",
        )
    ),
)

_ITEMS: Final = "SELECT 'item', {columns} FROM ({rows}) items"
_TOTAL: Final = (
    " UNION ALL SELECT 'total', CAST(COUNT(*) AS text), NULL, NULL, NULL, NULL FROM ({rows}) total"
)


Asker = tuple[Rights, str | None]
"""What the caller may do, and who it is where an answer depends on that, too."""


@dataclass(frozen=True)
class Basis:
    """A statement that reads what an answer depends on."""

    sql: str
    params: tuple[Any, ...]
    is_personal: bool = False
    """Whether the answer depends on who asks, and not only on what they may do."""

    @classmethod
    def of_record(cls, model: type[VersionedResource], resource_id: str) -> Basis:
        """Return what a record depends on, whichever of its versions is shown."""
        return cls(_RECORD[model], (resource_id,))

    @classmethod
    def of_served(cls, agent_id: str) -> Basis:
        """Return what the published resolution of an agent depends on."""
        return cls(_SERVED, (agent_id, agent_id))

    def and_favorites(self, agent_id: str) -> Basis:
        """Add who has marked an agent as a favorite; the answer says whether its caller has."""
        return Basis(self.sql + _FAVORITES, (*self.params, agent_id), is_personal=True)

    def and_dependents(self, references: type[Reference]) -> Basis:
        """Add the agents that refer to the resource by anything but history, whoever may read them."""
        sql = _DEPENDENTS.format(reference=references._meta.db_table)
        return Basis(self.sql + sql, self.params * 4)

    @classmethod
    def of_page(cls, rows: QuerySet[Any], page: slice) -> Basis:
        """Return what a page of a list of resources depends on; `rows` come in the list's order."""
        has_favorites = rows.model is Agent
        last = _author_and_favorites() if has_favorites else name_of("author")
        items, params = _items(rows, ("pk", "revision", "active_version_id", "latest_version_id", last), page)
        total, more = rows.order_by().values("pk").query.sql_with_params()
        return cls(items + _TOTAL.format(rows=total), (*params, *more), is_personal=has_favorites)

    def and_authors(self, versions: QuerySet[Any], page: slice) -> Basis:
        """Add who saved the versions of a page: people can be renamed."""
        items, params = _items(versions, ("pk", name_of("author")), page)
        return Basis(f"{self.sql} UNION ALL {items}", (*self.params, *params))

    def read(self) -> str | None:
        """Return what it reads now; None when that is more than an answer is kept under."""
        with prepared_cursor() as cursor:
            text = _AS_TEXT[cursor.db.vendor]
            cursor.execute(_ROWS.format(basis=self.sql, text=text), self.params)
            count, read = cursor.fetchone()
        return read if count <= MOST_ROWS else None

    def read_by(self, key: str) -> tuple[Asker, str | None] | None:
        """Return who asks with an API key and what the basis reads now, of one moment.

        None for a key that opens nothing, and for one that was not used within the last minute.
        """
        now = timezone.now()
        digest = digest_of(key)
        with prepared_cursor() as cursor:
            moments = (
                cursor.db.ops.adapt_datetimefield_value(now),
                _noted_after(cursor.db.ops, int(now.timestamp())),
            )
            statement = _statement_by(self.sql, cursor.db.vendor)
            cursor.execute(statement, (digest, *moments, digest, *self.params))
            count, read, holder = cursor.fetchone()
        asker = _asker(holder, is_personal=self.is_personal)
        return (asker, read if count <= MOST_ROWS else None) if asker else None

    def asker(self, caller: Caller) -> Asker:
        """Return as much of a caller as the answer depends on."""
        return caller.rights, str(caller.user_id) if self.is_personal else None


@lru_cache(maxsize=2)
def _noted_after(operations: Any, second: int) -> Any:
    """Return the moment since when a key's last use needs no new note, as the database writes it."""
    moment = datetime.datetime.fromtimestamp(second, datetime.UTC) - LAST_USED_STEP
    return operations.adapt_datetimefield_value(moment)


@lru_cache(maxsize=64)
def _statement_by(sql: str, vendor: str) -> str:
    return _ROWS_BY.format(holder=_KEY, basis=sql, text=_AS_TEXT[vendor])


@lru_cache(maxsize=1024)
def _asker(holder: str | None, *, is_personal: bool) -> Asker | None:
    """Return what a key and its owner's roles amount to; None for a key that opens nothing."""
    rows = json.loads(holder or "[]")
    keys = [row for row in rows if row[0] == "key"]
    if not keys:
        return None
    _, workspace_id, limit, superuser, owner_id, _ = keys[0]
    roles = {row[1]: Role(row[2]) for row in rows if row[0] == "role"}
    owner = caller_with(roles, is_superuser=superuser is not None)
    rights = limited(owner, workspace_id=workspace_id, role=Role(limit) if limit else None).rights
    return rights, owner_id if is_personal else None


def _author_and_favorites() -> Concat:
    of_agent = Favorite.objects.filter(agent_id=OuterRef("pk")).order_by().values("agent_id")
    number, highest = (Cast(aggregate("pk"), TextField()) for aggregate in (Count, Max))
    marks = Subquery(of_agent.annotate(marks=Concat(number, _text("/"), highest)).values("marks"))
    author = Cast(name_of("author"), TextField())
    return Concat(Coalesce(marks, _text("")), _text(" "), Coalesce(author, _text("")))


def _text(text: str) -> Value:
    return Value(text, output_field=TextField())


def _items(rows: QuerySet[Any], columns: Sequence[Any], page: slice) -> tuple[str, tuple[Any, ...]]:
    names = "abcde"[: len(columns)]
    texts = {name: Cast(column, TextField()) for name, column in zip(names, columns, strict=True)}
    sql, params = rows.annotate(**texts).values_list(*texts)[page].query.sql_with_params()
    padded = ", ".join([*names, *["NULL"] * (5 - len(names))])
    return _ITEMS.format(columns=padded, rows=sql), tuple(params)
