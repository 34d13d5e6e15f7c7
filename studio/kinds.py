"""The two kinds of resource as the studio shows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib.admin.utils import quote
from django.urls import reverse

from versioning.conf import get_editor
from versioning.domain.access import Caller
from versioning.editor import Collection
from versioning.editor.catalog import Catalog
from versioning.models import Agent, PromptBlock


@dataclass(frozen=True, kw_only=True)
class StudioKind:
    """What differs between the pages of agents and those of prompt blocks."""

    model: type[Agent | PromptBlock]
    namespace: str
    """The attribute of the editor that holds the collection."""
    singular: str
    plural: str
    text_field: str
    """The snapshot field that holds the text people come to edit."""
    icon: str

    @property
    def collection(self) -> Collection[Any]:
        """The verbs of this kind."""
        collection: Collection[Any] = getattr(get_editor(), self.namespace)
        return collection

    def catalog(self, caller: Caller) -> Catalog:
        """Return what the caller may read of this kind."""
        return Catalog(self.collection, by=caller)

    @property
    def has_visibility(self) -> bool:
        """Whether a resource of this kind can be public."""
        return self.model is Agent

    def address(self, page: str, resource_id: str | None = None, *rest: str) -> str:
        """Return the address of a page: of a resource's, or of the kind (`changelist`, `add`)."""
        arguments = rest if resource_id is None else (quote(resource_id), *rest)
        return reverse(f"admin:{self.url_name(page)}", args=arguments)

    def url_name(self, page: str) -> str:
        """Return the name of a page in `studio/urls.py`."""
        return f"versioning_{self.model._meta.model_name}_{page}"


AGENT = StudioKind(
    model=Agent,
    namespace="agent",
    singular="agent",
    plural="agents",
    text_field="instructions",
    icon="smart_toy",
)
PROMPT_BLOCK = StudioKind(
    model=PromptBlock,
    namespace="prompt",
    singular="prompt block",
    plural="prompt blocks",
    text_field="content",
    icon="article",
)
KINDS = (AGENT, PROMPT_BLOCK)
