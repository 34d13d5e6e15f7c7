"""Propose an override to the repository that holds it, instead of publishing it here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from editor_client.shared.configurations import message_or

from versioning.domain.access import APPLICATION, Right
from versioning.domain.errors import Invalid
from versioning.editor.reading import find, known_fields
from versioning.editor.resources import Resources, Who, caller_of
from versioning.models import Agent


def require_saving(resources: Resources[Agent], resource_id: str, *, by: Who = APPLICATION) -> None:
    """Raise `NotFound` or `Forbidden` unless the caller may save the agent or an override of it."""
    by = caller_of(by)
    if resource_id in resources.ownership.readable_by(by):
        by.require(Right.SAVE, resources.ownership.workspace_id)
    else:
        by.require(Right.SAVE, find(resources, resource_id, by=by).workspace_id)


def request_change(
    resources: Resources[Agent],
    resource_id: str,
    fields: Mapping[str, Any] | None = None,
    *,
    message: str | None = None,
    by: Who = APPLICATION,
) -> NoReturn:
    """Propose an override to the repository that holds it, instead of publishing it here.

    Raises what `require_saving` raises, `Invalid` for problems of the fields or the message, and otherwise
    always `Invalid` with the code `no_source_control`: no repository can be configured yet.
    """
    require_saving(resources, resource_id, by=by)
    known_fields(resources, fields or {})
    message_or("", message)
    raise Invalid.field("id", "is kept in no repository that takes requests", code="no_source_control")
