"""A constraint that Django does not have: a pointer to one of the row's own versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.core.exceptions import ValidationError
from django.db import DEFAULT_DB_ALIAS
from django.db.backends.ddl_references import Statement, Table
from django.db.models import BaseConstraint

if TYPE_CHECKING:
    from collections.abc import Iterable

    from django.db.models import Model


class OwnVersion(BaseConstraint):
    """A composite foreign key: `(owner, pointer)` must be `(resource_id, id)` of a version.

    A plain foreign key would let an agent point at a version of another agent. The check is deferred to the
    end of the transaction, so that a resource and its first version can be inserted in either order; deleting
    a version that a pointer refers to fails then.
    """

    def __init__(self, *, name: str, owner: str, pointer: str) -> None:
        super().__init__(name=name)
        self.owner = owner
        self.pointer = pointer

    def constraint_sql(self, model: Any, schema_editor: Any) -> str:
        """Return the clause for `CREATE TABLE`."""
        quote = schema_editor.quote_name
        owner, pointer = (_field(model, name) for name in (self.owner, self.pointer))
        version = pointer.related_model
        resource = _field(version, "resource")
        return (
            f"CONSTRAINT {quote(self.name)} FOREIGN KEY ({quote(owner.column)}, {quote(pointer.column)}) "
            f"REFERENCES {quote(version._meta.db_table)} ({quote(resource.column)}, {quote('id')}) "
            "DEFERRABLE INITIALLY DEFERRED"
        )

    # Django passes and expects `Statement` objects here; its stubs say str.
    def create_sql(  # type: ignore[override]
        self, model: Any, schema_editor: Any
    ) -> Statement:
        """Return the statement that adds the constraint to an existing table."""
        return Statement(
            "ALTER TABLE %(table)s ADD %(constraint)s",
            table=Table(model._meta.db_table, schema_editor.quote_name),
            constraint=self.constraint_sql(model, schema_editor),
        )

    def remove_sql(  # type: ignore[override]
        self, model: Any, schema_editor: Any
    ) -> Statement:
        """Return the statement that drops the constraint."""
        return Statement(
            "ALTER TABLE %(table)s DROP CONSTRAINT %(name)s",
            table=Table(model._meta.db_table, schema_editor.quote_name),
            name=schema_editor.quote_name(self.name),
        )

    def validate(
        self,
        model: type[Model],
        instance: Model,
        exclude: Iterable[str] | None = None,
        using: str = DEFAULT_DB_ALIAS,
    ) -> None:
        """Raise `ValidationError` if the pointer refers to a version of another resource."""
        version = getattr(instance, self.pointer)
        owner = _field(model, self.owner).attname
        if version is not None and version.resource_id != getattr(instance, owner):
            raise ValidationError(self.get_violation_error_message())

    def deconstruct(self) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
        """Return the arguments with which a migration creates the constraint."""
        path, args, kwargs = super().deconstruct()
        return path, tuple(args), {**kwargs, "owner": self.owner, "pointer": self.pointer}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OwnVersion) and self.deconstruct() == other.deconstruct()

    def __hash__(self) -> int:
        return hash((self.name, self.owner, self.pointer))


def _field(model: type[Model], name: str) -> Any:
    return model._meta.get_field(name)
