"""The kinds of resource in the studio."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Final, Self, cast

from django.contrib.admin.utils import quote
from django.urls import reverse

from studio import site
from studio.kind_words import KindWords, words_of_kind
from studio.permissions import EditorAdmin
from versioning.conf import get_editor
from versioning.domain import agents, kinds
from versioning.domain.access import Caller
from versioning.domain.kinds import ResourceKind
from versioning.editor import Collection
from versioning.editor.catalog import Catalog
from versioning.models import VersionedResource
from versioning.models.versioned import find_model


@dataclass(frozen=True, kw_only=True)
class StudioKind(ResourceKind):
    """A kind of resource with its verbs, its words, and the URLs of its pages."""

    @classmethod
    def of(cls, kind: ResourceKind) -> Self:
        return cls(**{member.name: getattr(kind, member.name) for member in fields(ResourceKind)})

    @cached_property
    def model(self) -> type[VersionedResource]:
        return find_model(self)

    @property
    def admin(self) -> EditorAdmin:
        """The `ModelAdmin` that decides about permissions."""
        return cast("EditorAdmin", site.get_model_admin(self.model))

    @property
    def collection(self) -> Collection[Any]:
        return get_editor().collection(self)

    @property
    def words(self) -> KindWords:
        return words_of_kind(self)

    @property
    def title(self) -> str:
        return str(self.words.title)

    def count_in_words(self, count: int) -> str:
        """Return the number in words: `3 agents`."""
        return self.words.counted(count) % {"count": count}

    def catalog(self, caller: Caller) -> Catalog:
        return Catalog(self.collection, by=caller)

    def address(self, page: str, resource_id: str | None = None, *rest: str) -> str:
        """Return the address of a page: of a resource, or of the kind (`changelist`, `add`)."""
        arguments = rest if resource_id is None else (quote(resource_id), *rest)
        return reverse(self.url_prefix + page, args=arguments)

    @cached_property
    def url_prefix(self) -> str:
        """The full URL name of a page, up to the page, in the form of `ModelAdmin` pages."""
        return f"studio:{self.model._meta.app_label}_{self.model._meta.model_name}_"

    def url_name(self, page: str) -> str:
        return f"{self.url_prefix}{page}".removeprefix("studio:")


KINDS_BY_SLUG: Final = {kind.slug: StudioKind.of(kind) for kind in kinds.KINDS}
AGENT, PROMPT_BLOCK = (KINDS_BY_SLUG[kind.slug] for kind in (agents.AGENT, agents.PROMPT_BLOCK))
KINDS = tuple(KINDS_BY_SLUG.values())
