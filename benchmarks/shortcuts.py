"""What each shortcut around Django's ORM saves of its request.

    python -m benchmarks.shortcuts [REPETITIONS]          # SQLite
    python -m tests.support.postgres -- python -m benchmarks.shortcuts

Requests are made in this process, with a key and without a network, alternately with the shortcut and with
Django's ordinary code. A shortcut that saves less than a fifth of a request is not worth its code.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from itertools import cycle
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from benchmarks.in_process import InProcess
from benchmarks.timing import milliseconds

REPETITIONS = 150
WARM_UP = 20
UNCACHED = 400
"""How many agents are read in turn, of which the cache holds few."""

Replacement = tuple[str, Any]


@dataclass(frozen=True)
class Shortcut:
    """The code that is replaced by Django's."""

    name: str
    replacements: Sequence[Replacement]

    @contextmanager
    def left_out(self) -> Iterator[None]:
        """Disable it in this block."""
        with ExitStack() as stack:
            for target, instead in self.replacements:
                stack.enter_context(patch(target, instead))
            yield


def shortcuts() -> Iterator[Shortcut]:
    """Yield the shortcuts of the models."""
    from django.db import connection  # noqa: PLC0415  settings come first

    from versioning.models import events  # noqa: PLC0415

    cursors = [
        (f"versioning.{module}.prepared_cursor", connection.cursor)
        for module in (
            "models.statements",
            "models.events",
            "models.favorites",
            "models.versions",
            "models.workspaces",
            "editor.notifications",
            "serving.reference_checks",
        )
    ]
    yield Shortcut("`prepared_cursor`: PostgreSQL plans once", cursors)
    yield Shortcut(
        "`one_round_trip`: the end of a transaction sent together",
        [("versioning.models.events.one_round_trip", nullcontext)],
    )
    yield Shortcut(
        "`insert`, `insert_new` and `update`: no `save()`",
        [
            ("versioning.models.versions.insert", _bulk_create),
            ("versioning.models.tags.insert", _bulk_create),
            ("versioning.models.events.insert", _bulk_create),
            ("versioning.models.versioned.insert_new", _insert_new),
            ("versioning.models.versioned.update", _update),
        ],
    )
    yield Shortcut(
        "`models.statements`: SQL built once",
        [
            ("versioning.models.statements.OneByKey.get", _get_one),
            ("versioning.models.statements.ValuesByKeys.get", _get_values),
        ],
    )
    yield Shortcut(
        "`log_position`: the position without Django",
        [("versioning.serving.followed_log.log._ask", events.position)],
    )


def _bulk_create(model: Any, rows: Sequence[Mapping[str, Any]]) -> None:
    from django.db.models import QuerySet  # noqa: PLC0415  settings come first

    QuerySet(model).bulk_create([model(**row) for row in rows])  # a manager may refuse to


def _insert_new(row: Any) -> None:
    from django.db.models import Model  # noqa: PLC0415  settings come first

    Model.save(row, force_insert=True)  # its own `save` refuses to


def _update(row: Any, fixed: frozenset[str]) -> None:
    from django.db.models import QuerySet  # noqa: PLC0415  settings come first

    fields = [
        field for field in row._meta.concrete_fields if not field.primary_key and field.name not in fixed
    ]
    changes = {field.attname: getattr(row, field.attname) for field in fields}
    QuerySet(type(row)).filter(pk=row.pk).update(**changes)


def _get_one(query: Any, *, pk: str) -> Any:
    return query.rows.get(**{query.found_by: pk})


def _get_values(query: Any, keys: Sequence[str]) -> list[Any]:
    return list(query._rows.filter(pk__in=keys))  # noqa: SLF001  as the method that this replaces


def _keep_query_sets() -> None:
    """Make compiled queries keep the query sets they were compiled from."""
    from versioning.models.statements import OneByKey  # noqa: PLC0415  settings come first

    compiled = OneByKey.__init__

    def made(query: Any, rows: Any, *, found_by: str = "pk") -> None:
        query.rows, query.found_by = rows, found_by
        compiled(query, rows, found_by=found_by)

    OneByKey.__init__ = made  # type: ignore[method-assign]


def requests() -> Mapping[str, Callable[[], object]]:
    """Return the measured requests by name."""
    api = InProcess.ready()
    for number in range(UNCACHED):
        api.create(id=f"u{number}", autoPublish=True)
    uncached = cycle(range(UNCACHED))
    return {
        "cached read": lambda: api.read("/api/agents/u0"),
        "read, not cached": lambda: api.read(f"/api/agents/u{next(uncached)}"),
        "create": api.create,
        "save a draft": lambda: api.save("u1"),
        "save and publish": lambda: api.save("u1", autoPublish=True),
    }


def main(repetitions: int) -> None:
    """Measure and print a table."""
    _keep_query_sets()
    works = requests()
    print("| shortcut | " + " | ".join(works) + " |\n| --- |" + " --- |" * len(works))
    for shortcut in shortcuts():
        row = [shortcut.name]
        for work in works.values():
            milliseconds(work, WARM_UP)
            with shortcut.left_out():
                milliseconds(work, WARM_UP)
            straight, plain = [], []
            for _ in range(repetitions):
                straight.append(milliseconds(work)[0])
                with shortcut.left_out():
                    plain.append(milliseconds(work)[0])
            saved = 1 - median(straight) / median(plain)
            row.append(f"{median(straight):.2f} of {median(plain):.2f} ms, saves {saved:.0%}")
        print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        os.environ.setdefault("DATABASE_URL", f"sqlite:///{folder}/shortcuts.sqlite3")
        os.environ |= {"EDITOR_CACHE_BYTES": "100000"}
        os.environ.setdefault("SECRET_KEY", "bench")
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "editor_project.settings")
        import django

        django.setup()
        logging.disable(logging.INFO)
        main(int(sys.argv[1]) if len(sys.argv) > 1 else REPETITIONS)
