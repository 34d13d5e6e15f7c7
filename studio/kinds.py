"""The kinds of resource as the studio shows them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Final, Self, cast

from django.contrib.admin.utils import quote
from django.urls import reverse
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy, ngettext

from studio import site
from studio.permissions import EditorAdmin
from versioning.conf import get_editor
from versioning.domain import agents, kinds, prompt_blocks
from versioning.domain.access import Caller
from versioning.domain.kinds import ResourceKind
from versioning.editor import Collection
from versioning.editor.catalog import Catalog
from versioning.models import VersionedResource
from versioning.models.versioned import model_of

_TITLES: Final = {
    agents.AGENT.slug: gettext_lazy("Agents"),
    prompt_blocks.PROMPT_BLOCK.slug: gettext_lazy("Prompt blocks"),
}
_NEW: Final = {
    agents.AGENT.slug: gettext_lazy("New agent"),
    prompt_blocks.PROMPT_BLOCK.slug: gettext_lazy("New prompt block"),
}


@dataclass(frozen=True, kw_only=True)
class StudioKind(ResourceKind):
    """A kind of resource with its verbs, and the addresses of its pages."""

    @classmethod
    def of(cls, kind: ResourceKind) -> Self:
        """Return a kind as the studio shows it."""
        return cls(**{member.name: getattr(kind, member.name) for member in fields(ResourceKind)})

    @property
    def model(self) -> type[VersionedResource]:
        """The model of its resources."""
        return model_of(self)

    @property
    def admin(self) -> EditorAdmin:
        """The `ModelAdmin` that says who may do what."""
        return cast("EditorAdmin", site.get_model_admin(self.model))

    @property
    def collection(self) -> Collection[Any]:
        """The verbs of this kind."""
        return get_editor().collection(self)

    @property
    def title(self) -> str:
        """What a list of them is called."""
        return str(_TITLES.get(self.slug) or capfirst(self.plural))

    @property
    def new_title(self) -> str:
        """What the page on which one is made is called."""
        return str(_NEW.get(self.slug) or f"New {self.singular}")

    def counted(self, count: int) -> str:
        """Return how many there are: `3 agents`."""
        if self.slug == agents.AGENT.slug:
            words = ngettext("%(count)s agent", "%(count)s agents", count)
        elif self.slug == prompt_blocks.PROMPT_BLOCK.slug:
            words = ngettext("%(count)s prompt block", "%(count)s prompt blocks", count)
        else:
            words = f"%(count)s {self.singular if count == 1 else self.plural}"
        return words % {"count": count}

    def catalog(self, caller: Caller) -> Catalog:
        """Return what the caller may read of this kind."""
        return Catalog(self.collection, by=caller)

    def address(self, page: str, resource_id: str | None = None, *rest: str) -> str:
        """Return the address of a page: of a resource's, or of the kind (`changelist`, `add`)."""
        arguments = rest if resource_id is None else (quote(resource_id), *rest)
        return reverse(f"studio:{self.url_name(page)}", args=arguments)

    def url_name(self, page: str) -> str:
        """Return the name of a page in `studio/urls.py`."""
        return f"versioning_{self.model._meta.model_name}_{page}"


KINDS_BY_SLUG: Final = {kind.slug: StudioKind.of(kind) for kind in kinds.KINDS}
AGENT, PROMPT_BLOCK = (KINDS_BY_SLUG[kind.slug] for kind in (agents.AGENT, prompt_blocks.PROMPT_BLOCK))
KINDS = tuple(KINDS_BY_SLUG.values())
