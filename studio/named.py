"""Resources and workspaces by their names, where a page or a message would otherwise name their ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from django.db.models import Q
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from editor_client.shared.text_keys import caseless

from studio.kinds import KINDS_BY_SLUG
from studio.limits import shortened
from studio.marks import Shown, marked
from studio.permissions import caller_of
from versioning.domain.access import Caller, Right
from versioning.editor.catalog import Catalog
from versioning.editor.memberships import workspaces_with
from versioning.models.text_keys import contains_caseless


@dataclass(frozen=True, kw_only=True)
class ResourceMention:
    """A place on a page where a resource is named."""

    slug: str
    id: str
    name: str = field(default="", compare=False)
    """Its name, if it need not be looked up."""
    only_id: bool = False
    """Whether its name stands there already, so that only the id is missing if others share the name."""
    before: str = ""
    after: str = ""
    """What separates the id from what is around it, if the id is shown."""

    @property
    def otherwise(self) -> str:
        """The id."""
        return self.id

    @classmethod
    def shown(cls, mentions: Sequence[Self], request: HttpRequest) -> list[Shown]:
        """Return the resources by their names, as far as the reader may read them; one query for each kind.

        The id is added where others of the kind have the same name on the page.
        """
        known = {(mention.slug, mention.id): mention.name for mention in mentions if mention.name}
        unknown = {(mention.slug, mention.id) for mention in mentions} - known.keys()
        names = {**names_of(unknown, caller_of(request)), **known}
        shared = Counter((slug, names.get((slug, pk), pk)) for slug, pk in {*known, *unknown})
        found = []
        for mention in mentions:
            name = names.get((mention.slug, mention.id), mention.id)
            is_shared = shared[mention.slug, name] > 1 and name != mention.id
            write = _only_id if mention.only_id else _named
            found.append(write(mention, name, is_shared=is_shared))
        return found


@dataclass(frozen=True, kw_only=True)
class WorkspaceMention:
    """A place on a page where a workspace is named."""

    id: str

    @property
    def otherwise(self) -> str:
        """The id."""
        return self.id

    @classmethod
    def shown(cls, mentions: Sequence[Self], request: HttpRequest) -> list[Shown]:
        """Return the workspaces by their names, as far as the reader may read them; one query.

        The id is added where others have the same name on the page.
        """
        ids = {mention.id for mention in mentions}
        readable = workspaces_with(Right.READ, by=caller_of(request)).filter(pk__in=ids)
        names = dict(readable.values_list("pk", "name"))
        shared = Counter(names.get(pk, pk) for pk in ids)
        found = [(mention, names.get(mention.id, mention.id)) for mention in mentions]
        return [_named(one, name, is_shared=shared[name] > 1 and name != one.id) for one, name in found]


def workspace_name(workspace_id: str) -> SafeString:
    """Return the name of a workspace for those who may read it, and the id for others."""
    return marked(WorkspaceMention(id=workspace_id))


def resource_name(slug: str, resource_id: str, name: str = "") -> SafeString:
    """Return the name of a resource; `name` is the one that the reader may know, if it is known already."""
    return marked(ResourceMention(slug=slug, id=resource_id, name=name))


def id_if_shared(slug: str, resource_id: str, name: str, *, before: str = "", after: str = "") -> SafeString:
    """Return the id of a resource whose name is shown, if others have the same name on the page.

    `before` and `after` separate it from what is around it.
    """
    mention = ResourceMention(slug=slug, id=resource_id, name=name, only_id=True, before=before, after=after)
    return marked(mention)


def names_of(references: Iterable[tuple[str, str]], caller: Caller) -> Mapping[tuple[str, str], str]:
    """Return the names of resources, by the slug of the kind and the id; one query for each kind.

    Deleted and unreadable resources are left out.
    """
    wanted: dict[str, set[str]] = {}
    for slug, resource_id in references:
        wanted.setdefault(slug, set()).add(resource_id)
    return {
        (slug, resource_id): shortened(name)
        for slug, kind in KINDS_BY_SLUG.items()
        if slug in wanted
        for resource_id, name in _names(kind.catalog(caller), wanted[slug])
    }


def _names(catalog: Catalog, ids: set[str]) -> Iterator[tuple[str, str]]:
    """Yield the names of those of the resources that are stored or defined in code; one query."""
    yield from ((one, catalog.in_code[one].name) for one in ids & catalog.in_code.keys())
    yield from ((resource.pk, entry.name) for resource, entry in catalog.some(sorted(ids)))


def named_like(text: str, caller: Caller) -> Q:
    """Return the condition that an event is about a resource whose name contains a text.

    Names that the caller may not read are not searched.
    """
    found = Q(pk=None)
    for slug, kind in KINDS_BY_SLUG.items():
        catalog = kind.catalog(caller)
        newest = Q(catalog.viewer.drafts, contains_caseless("latest_version__name", text))
        live = Q(~catalog.viewer.drafts, contains_caseless("active_version__name", text))
        rows = catalog.collection.list(by=caller).filter(newest | live)
        in_code = [pk for pk, agent in catalog.in_code.items() if caseless(text) in caseless(agent.name)]
        ids = Q(resource_id__in=rows.order_by().values("pk")) | Q(resource_id__in=in_code)
        found |= Q(ids, resource_kind=slug)
    return found


def _named(mention: ResourceMention | WorkspaceMention, name: str, *, is_shared: bool) -> Shown:
    if not is_shared:
        return Shown(name, format_html("<bdi>{}</bdi>", name))
    html = format_html('<bdi>{}</bdi> <code class="soft">{}</code>', name, mention.id)
    return Shown(f"{name} ({mention.id})", html)


def _only_id(mention: ResourceMention, _name: str, *, is_shared: bool) -> Shown:
    if not is_shared:
        return Shown("", SafeString())
    html = format_html('{}<code class="soft">{}</code>{}', mention.before, mention.id, mention.after)
    return Shown(f"{mention.before}{mention.id}{mention.after}", html)
