"""Checks of `manage.py check` and `manage.py migrate` for kinds of resources that applications add."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from django.core.checks import CheckMessage, Error
from django.core.exceptions import FieldDoesNotExist
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.models import CreateModel

from versioning.domain.kinds import ResourceKind
from versioning.models.guarded import GuardedQuerySet
from versioning.models.text_search import WordsOf
from versioning.models.versioned import MODELS, VersionedResource

_RELATED = ("versions", "labels", "tags", "documents")


def check_kinds(*, databases: Iterable[str] | None = None, **_options: Any) -> list[CheckMessage]:
    """Check for mistakes that would fail at the first request or, for the search index, in a worker.

    With `databases`, as `migrate` passes them, migrations are checked too.
    """
    problems: list[CheckMessage] = []
    for model in MODELS:
        problems += _problems_of_fields(model.kind)
        problems += _problems_of_tables(model)
        problems += _problems_of_managers(model)
    if databases and not problems:
        problems += _problems_of_migrations()
    return problems


def _problems_of_fields(kind: ResourceKind) -> Iterator[CheckMessage]:
    if kind.text_field not in kind.schema.names:
        yield Error(
            f"The kind {kind.slug!r} has no field {kind.text_field!r}, which is its text_field.",
            hint=f"Its fields are {', '.join(kind.schema.names)}.",
            id="versioning.E003",
        )
    needed = [str(field.alias) for field in kind.schema.edit.model_fields.values() if field.is_required()]
    if needed:
        yield Error(
            f"Every edit of the kind {kind.slug!r} would have to send {', '.join(needed)}.",
            hint="In ConfigSchema.edit, a required field has the default UNCHANGED, and any other None.",
            id="versioning.E004",
        )


def _problems_of_tables(model: type[VersionedResource]) -> Iterator[CheckMessage]:
    for name in _RELATED:
        try:
            model._meta.get_field(name)
        except FieldDoesNotExist:
            yield Error(
                f"No model has {name} of a {model.__name__} as its rows.",
                hint=f"The foreign key 'resource' to {model.__name__} needs related_name={name!r}.",
                id="versioning.E005",
            )


def _problems_of_managers(model: type[VersionedResource]) -> Iterator[CheckMessage]:
    related = (
        relation
        for relation in model._meta.related_objects
        if relation.related_name in {"versions", "labels"}
    )
    tables: list[Any] = [model, *(relation.related_model for relation in related)]
    for manager in (manager for table in tables for manager in table._meta.managers):
        if not isinstance(manager.get_queryset(), GuardedQuerySet):
            yield Error(
                f"{manager.model.__name__}.{manager.name} lets code change rows that only the editor's "
                "verbs may change.",
                hint="Use as_manager() of a subclass of versioning.models.guarded.GuardedQuerySet.",
                id="versioning.E007",
            )


def _problems_of_migrations() -> Iterator[CheckMessage]:
    loader = MigrationLoader(None, ignore_no_migrations=True)
    for model in MODELS:
        documents = model.document_model._meta
        if documents.app_label == "versioning":  # its 0014 is older than words_of
            continue
        operations = [
            operation
            for (app_label, _name), migration in loader.disk_migrations.items()
            if app_label == documents.app_label
            for operation in migration.operations
        ]
        is_made = documents.object_name in {
            operation.name for operation in operations if isinstance(operation, CreateModel)
        }
        with_words = {operation.table for operation in operations if isinstance(operation, WordsOf)}
        if is_made and documents.db_table not in with_words:
            yield Error(
                f"No migration of {documents.app_label} makes the index of the words of {model.__name__}.",
                hint=(
                    f"Add versioning.models.text_search.words_of({documents.db_table!r}) as the last"
                    f" operation of the migration that makes {documents.object_name}; if that is applied,"
                    " of a new one."
                ),
                id="versioning.E006",
            )
