"""Rows that only the editor's verbs write: resources, versions, labels, tags and references, and the log.

Django's ORM reads them like any others. Writing them through managers, related managers and instances raises
`TypeError`: a changed version would invalidate approvals, pins and locks, and a moved pointer would bypass
the gate. The verbs insert and update with `versioning.models.statements`, and use the functions at the end of
this module for the rest. `loaddata` calls neither `save()` nor a manager, so it still works.
"""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar, Final, NoReturn, TypeVar

from django.db import models
from django.db.models.base import ModelBase

R = TypeVar("R", bound=models.Model)

BY_VERBS: Final = (
    "{model} is written by the editor's verbs alone: versions never change, and pointers, visibility and "
    "deletions pass the rules of the editor (get_editor().agent, for example)"
)


class GuardedQuerySet(models.QuerySet[R]):
    """Rows that can only be read; `create()` and its like fail in `save()`."""

    def update(self, **_changes: Any) -> NoReturn:
        """Raise `TypeError`."""
        refuse(self.model)

    def delete(self) -> NoReturn:
        """Raise `TypeError`."""
        refuse(self.model)

    def bulk_create(self, *_rows: Any, **_options: Any) -> NoReturn:
        """Raise `TypeError`."""
        refuse(self.model)

    def bulk_update(self, *_rows: Any, **_options: Any) -> NoReturn:
        """Raise `TypeError`."""
        refuse(self.model)


class GuardedBase(ModelBase):
    """Gives models a guarded base manager, which `resource.versions.add()` writes with.

    `Meta.base_manager_name` would do that too, but require a migration of every application with a kind.
    """

    @property
    def _base_manager(cls) -> Any:  # noqa: N805  of a metaclass
        return _base_manager_of(cls)


@cache
def _base_manager_of(model: Any) -> Any:
    manager: Any = models.Manager.from_queryset(GuardedQuerySet)()
    manager.name = "_base_manager"
    manager.model = model
    manager.auto_created = True
    return manager


class Guarded(models.Model, metaclass=GuardedBase):
    """A row that only the editor's verbs write."""

    refusal: ClassVar[str] = BY_VERBS

    class Meta:
        abstract = True

    def save(self, *_args: Any, **_options: Any) -> NoReturn:
        """Raise `TypeError`."""
        refuse(type(self))

    def delete(self, *_args: Any, **_options: Any) -> NoReturn:
        """Raise `TypeError`."""
        refuse(type(self))


# Only for the editor's verbs, which check and log their changes:


class UnguardedQuerySet(models.QuerySet[R]):
    """Guarded rows, written by a verb."""


def unguard(rows: models.QuerySet[R]) -> UnguardedQuerySet[R]:
    """Return rows that can be written."""
    return UnguardedQuerySet(rows.model, query=rows.query.chain(), using=rows.db)


def save_row(row: Guarded) -> None:
    models.Model.save(row)


def delete_row(row: Guarded) -> None:
    models.Model.delete(row)


def refuse_cascade(*, sender: type[models.Model], origin: Any = None, **_signal: Any) -> None:
    """Raise `TypeError` if a resource would be deleted along with another row: a `pre_delete` receiver."""
    if not isinstance(origin, UnguardedQuerySet | Guarded):
        refuse(sender)


def refuse(model: type[models.Model]) -> NoReturn:
    """Raise the `TypeError` of a guarded model."""
    refusal: str = getattr(model, "refusal", BY_VERBS)
    raise TypeError(refusal.format(model=model.__name__))
