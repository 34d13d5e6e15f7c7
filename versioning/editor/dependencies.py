"""What cached answers depend on, as far as rows alone say it; None where files or a choice have a say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from django.core.exceptions import EmptyResultSet
from django.db.models import QuerySet
from editor_client.shared import ids
from editor_client.shared.instructions import referenced_blocks

from versioning.domain.overrides import code_config
from versioning.domain.selectors import PUBLISHED, Selector
from versioning.editor.resources import Resources
from versioning.models import Agent, VersionedResource
from versioning.models.basis import Basis
from versioning.serving import choice

R = TypeVar("R", bound=VersionedResource)


def basis(resources: Resources[R], resource_id: str) -> Basis | None:
    """Return what depends on a resource alone depends on; None when on more than rows."""
    if ids.fault(resource_id) or not resources.backend.is_row_alone(resource_id):
        return None
    return Basis.of_record(resources.model, resource_id)


def basis_of_record(resources: Resources[R], resource_id: str) -> Basis | None:
    """Return what the answer with the record of a resource depends on; None when on more than rows."""
    found = basis(resources, resource_id)
    return found.and_favorites(resource_id) if found and resources.kind.has_favorites else found


def basis_of_list(resources: Resources[R], rows: QuerySet[R], page: slice) -> Basis | None:
    """Return what a page of a list depends on; None when on more than rows, or on none."""
    with suppress(EmptyResultSet):
        return Basis.of_page(rows, page) if _are_rows_alone(resources) else None
    return None


def basis_of_versions(
    resources: Resources[R], resource_id: str, order: Sequence[str], page: slice
) -> Basis | None:
    """Return what a page of a resource's versions depends on; None when on more than rows, or on none."""
    found = basis(resources, resource_id)
    versions = resources.model.version_model.objects.filter(resource_id=resource_id).order_by(*order)
    with suppress(EmptyResultSet):
        return found and found.and_authors(versions, page)
    return None


def basis_of_dependents(resources: Resources[R], resource_id: str) -> Basis | None:
    """Return what the dependents of a resource depend on; None when on more than rows."""
    references = resources.model.referred_by
    by_rows = references.fixed_by_code or all(map(resources.agents.is_row_alone, resources.code.agents))
    found = basis(resources, resource_id) if by_rows else None
    return found and found.and_dependents(references)


def served_basis(
    resources: Resources[Agent], agent_id: str, selector: Selector, context: Mapping[str, Any]
) -> Basis | None:
    """Return what serving an agent depends on beside its code; None when on more than its pointers.

    Only what is published has a basis so narrow: what a draft shows of prompt blocks depends on
    what the caller may read of them.
    """
    agent = resources.code.get(agent_id)
    in_code = agent is not None and any(referenced_blocks(code_config(agent)))
    if selector != PUBLISHED or context or in_code or choice.is_open():
        return None
    return None if basis(resources, agent_id) is None else Basis.of_served(agent_id)


def _are_rows_alone(resources: Resources[R]) -> bool:
    return not resources.kind.in_code or all(map(resources.backend.is_row_alone, resources.code.agents))
