"""The base class of the pages about one resource: the resource, the caller's rights, head and tabs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from http import HTTPStatus
from operator import attrgetter
from typing import Any, Final
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.admin.utils import quote, unquote
from django.db.models import Q
from django.http import HttpRequest, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy
from editor_client.shared import ids

from studio import additions
from studio.extensions import REGISTERED
from studio.extensions import ResourceTab as Tab
from studio.kinds import AGENT, StudioKind
from studio.navigation import Link, NavigationRow
from studio.panels import Panel, VersionOnPage
from studio.preferences import note_opened
from studio.resources.rows import Summary, blocks_on_page, find_stars
from studio.views import StudioPage
from versioning.domain.access import Right
from versioning.domain.config import Config
from versioning.domain.errors import Forbidden, Message, NotFound
from versioning.domain.overrides import CodeAgent, code_config, merged_config
from versioning.domain.snapshots import Snapshot
from versioning.editor import Collection
from versioning.editor.catalog import Catalog
from versioning.editor.timeline import END_OF_LOG
from versioning.models import VersionedResource
from versioning.serving.grants import target_of

TABS = (
    Tab(page="change", title=pgettext_lazy("tab", "Edit"), reading_title=pgettext_lazy("tab", "View")),
    Tab(page="history", title=gettext_lazy("History"), right=Right.READ_DRAFTS),
    Tab(page="preview", title=gettext_lazy("Preview"), kinds=attrgetter("has_preview")),
    Tab(page="try", title=pgettext_lazy("tab", "Try"), kinds=attrgetter("has_preview")),
    Tab(page="compare", title=pgettext_lazy("tab", "Compare"), right=Right.READ_DRAFTS, needs_record=True),
    Tab(page="usage", title=gettext_lazy("Used by"), needs_record=True),
    Tab(page="activity", title=gettext_lazy("Activity")),
)
IN_CODE: Final = "code"
"""The word in the address of a comparison for an agent as its code defines it."""


class ResourcePage(StudioPage):
    """A page about one resource, or about an agent that only code defines."""

    kind: StudioKind = AGENT
    """Set by `as_view(kind=…)`."""
    tab = "change"
    offers_taken_back = False
    """Whether the page offers a version that was taken back, because it shows the live one instead."""
    has_edit_form = False
    """Whether the page has the form `edit-form`, which actions may save first."""

    def setup(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        """Take the resource's id from the address."""
        super().setup(request, *args, **kwargs)
        self.resource_id = unquote(kwargs["resource"])

    @property
    def scope(self) -> Mapping[str, str]:
        """The events about the resource, for `listen`."""
        return {"resource_kind": self.kind.slug, "resource_id": self.resource_id}

    def instead(self) -> dict[str, str]:
        """Redirect to the page of the resource, which is open to everyone who can read it."""
        try:
            name = self.summary.name
        except NotFound:  # it was just deleted
            return {}
        return {"instead_address": self.address("change"), "instead_name": name}

    @cached_property
    def collection(self) -> Collection[Any]:
        """The editor's verbs for this kind."""
        return self.kind.collection

    @cached_property
    def catalog(self) -> Catalog:
        """The resources of this kind that the caller may read."""
        return Catalog(self.collection, by=self.caller)

    @cached_property
    def resource(self) -> VersionedResource | None:
        """The resource with its pointers; None if an agent is only defined in code.

        Raises `NotFound` if the caller cannot read it.
        """
        try:
            resource: VersionedResource = self.collection.find(self.resource_id, by=self.caller)
        except NotFound:
            if self._in_code is None:
                raise
            return None
        return resource

    @cached_property
    def with_history(self) -> VersionedResource | None:
        """The resource, even if only its history remains: the commits of a removed file."""
        if self.resource is not None or not self.may(Right.READ_DRAFTS):
            return self.resource
        history = self.collection.versions(self.resource_id, by=self.caller)
        resource: VersionedResource | None = history.resource
        return resource

    @cached_property
    def code_agent(self) -> CodeAgent | None:
        """The agent as defined in code, if there is one and the caller may read it.

        None for a resource of another workspace that has the id of such an agent: it is not an override.
        """
        is_elsewhere = self.resource is not None and self.workspace_id != self.editor.code.workspace_id
        return None if is_elsewhere else self._in_code

    @cached_property
    def _in_code(self) -> CodeAgent | None:
        """The agent that code defines under the id, if the caller may read it."""
        return self.catalog.in_code.get(self.resource_id)

    @cached_property
    def taken_back(self) -> Snapshot | None:
        """The newest version, if it was live until an older one was; None without access to drafts."""
        resource = self.resource
        if resource is None or not resource.is_taken_down or not self.may(Right.READ_DRAFTS):
            return None
        is_code_live = self.code_agent is not None
        return resource.latest if resource.active is not None or is_code_live else None

    def forget(self, *more: str) -> None:
        """Clear the cached data of the resource, which has changed; `more` are further cached properties."""
        read = ("resource", "with_history", "workspace_id", "code_agent", "summary", "taken_back")
        for name in (*read, *more):
            self.__dict__.pop(name, None)

    def offered_again(self) -> dict[str, Any] | None:
        """Return the version that was taken back, with its actions; None if none was.

        It was live until an older one was published again, or an override ended.
        """
        version, resource = self.taken_back, self.resource
        if version is None or resource is None:
            return None
        target = target_of(resource, self.editor.code)
        page = self.editor.event.page(
            before=END_OF_LOG,
            limit=1,
            where=Q(resource_uuid=target.identity, previous_version_id=version.version_id, hidden_from=""),
            types=frozenset(f"{target.kind}.{change}" for change in ("published", "unpublished")),
            resource_kind=target.kind,
            resource_id=target.id,
            by=self.caller,
        )
        ids = {"from": resource.active_id or IN_CODE, "to": version.version_id}
        return {
            "version": version,
            "comparison": f"{self.address('compare')}?{urlencode(ids)}",
            "restore_address": self.address("restore", version.version_id),
            # The actor and the time of taking it back; None if not in the log.
            "event": next(iter(page.events), None),
        }

    @cached_property
    def workspace_id(self) -> str:
        return self.resource.workspace_id if self.resource else self.editor.code.workspace_id

    @cached_property
    def summary(self) -> Summary:
        """The resource in one line, for the head of the page."""
        return Summary(self.catalog.entry(self.resource_id, self.resource))

    @cached_property
    def used_by(self) -> int:
        """The number of live agents that refer to the resource, as far as the caller may know."""
        if self.resource is None:
            return 0
        make = partial(self.collection.dependents_count, self.resource_id, by=self.caller)
        return int(self.known_of_users("count", make))

    def known_of_users(self, about: str, make: Callable[[], Any]) -> Any:
        """Return plain values about the agents that refer to the resource, read again after a change of one.

        Among thousands, finding them takes longer than the rest of a page.
        """
        cache_key = "users", about, self.resource_id, *self.catalog.cache_key
        of_it = self.kind.slug, self.resource_id
        return self.editor.cache.get_or_make(cache_key, (AGENT.slug, None), make, of_it)

    def effective(self, version: Snapshot | None) -> Config:
        """Return the configuration served with a version, if any: an override is applied to the code."""
        if self.code_agent is None:
            return version.config if version else {}
        return merged_config(self.code_agent, version.config) if version else code_config(self.code_agent)

    @cached_property
    def rights(self) -> frozenset[Right]:
        """The caller's rights on the resource, which is readable; a page uses the same rights throughout."""
        return self.caller.rights_in(self.workspace_id) | {Right.READ}

    def may(self, right: Right) -> bool:
        """Return whether the caller has the permission for a right on this resource."""
        return right in self.rights

    def require(self, right: Right) -> None:
        """Raise `Forbidden` unless the caller has the permission."""
        if not self.may(right):
            raise Forbidden(right.describe_refusal(self.workspace_id))

    def address(self, page: str, *rest: str) -> str:
        """Return the address of another page about this resource."""
        return reverse(self.kind.url_prefix + page, args=(quote(self.resource_id), *rest))

    def back(self, page: str, message: str = "", *, level: int = messages.SUCCESS) -> HttpResponseRedirect:
        """Redirect to another page about this resource, which shows the message."""
        return self.go(self.address(page), message, level=level)

    def panels(
        self,
        page: str,
        version: Snapshot | None,
        fields: Iterable[str] = (),
        unpublished_blocks: Sequence[str] = (),
    ) -> list[Panel]:
        """Return other applications' panels for a version; `page` identifies the page to them.

        The page passes them to its template as `panels`, which places them with the tag `panels`. `fields`
        names the fields below which it can show panels.
        """
        resource = self.with_history
        if version is None or resource is None:
            return []
        on_page = VersionOnPage(
            page=page,
            request=self.request,
            caller=self.caller,
            rights=self.caller.rights_in(resource.workspace_id) | {Right.READ},
            kind=self.kind,
            resource=resource,
            target=target_of(resource, self.editor.code),
            version=version,
            fields=frozenset(fields),
            unpublished_blocks=unpublished_blocks,
        )
        return additions.panels(on_page)

    def blocks_in_the_way(self, obstacle: object) -> list[str]:
        """Return the ids of unpublished blocks, if those prevent an agent from going live."""
        if obstacle is None or self.kind.is_shown or self.resource is None:
            return []
        blocks = blocks_on_page(self.effective(self.resource.current), self.caller)
        is_any_missing = any(block.live is None for block in blocks)
        return [block.id for block in blocks if is_any_missing and block.draft is not None]

    def with_next_steps(self, message: str, resource: VersionedResource, version: Snapshot) -> str:
        """Return the message after a save, with the next steps that other applications suggest."""
        for step in additions.collect(
            lambda extension: extension.next_steps(self.caller, self.kind, resource, version)
        ):
            message = format_html('{} <a class="link" href="{}">{}</a>', message, step.address, step.title)
        return message

    def page(self, template: str, *, title: str, status: int = 200, **context: Any) -> TemplateResponse:
        """Return a page with the head and the tabs of the resource, which the person has opened."""
        resource, personal = self.resource, {}
        if resource is not None:
            is_opened = self.request.method == "GET" and status == HTTPStatus.OK
            if is_opened and "X-Live" not in self.request.headers:
                note_opened(self.request, self.kind.slug, resource.pk)
            copies = Right.SAVE in self.rights
            personal = {
                "star": find_stars(self.kind, [resource.pk], self.caller)[resource.pk],
                "duplicate": self.address("duplicate") if copies else "",
                "proposed_copy": proposed_copy(resource.pk) if copies else "",
            }
        return super().page(
            template,
            title=title,
            status=status,
            **{
                **personal,
                "kind": self.kind,
                "resource": resource,
                "summary": self.summary,
                "tabs": self.tabs(),
                **self._actions(),
                "list_address": reverse(f"{self.kind.url_prefix}changelist"),
                "used_by": self.used_by,
                "usage_address": self.address("usage"),
                "may_save": self.may(Right.SAVE),
                "may_publish": self.may(Right.PUBLISH),
                "taken_back": self.taken_back,
                "offered_again": self.offered_again() if self.offers_taken_back else None,
                **context,
            },
        )

    def tabs(self) -> NavigationRow:
        """Return the tabs that the caller may open."""
        may_save = Right.SAVE in self.rights
        links = [
            Link(
                title=tab.title if may_save else tab.reading_title or tab.title,
                address=self.address(tab.page),
                is_current=tab.page == self.tab,
                count=self.used_by if tab.page == "usage" else 0,
            )
            for tab in (*TABS, *(tab for extension in REGISTERED for tab in extension.resource_tabs))
            if (tab.right is None or tab.right in self.rights)
            and (tab.kinds is None or tab.kinds(self.kind))
            and not (tab.needs_record and self.resource is None)
        ]
        return NavigationRow.of(links)

    def _actions(self) -> dict[str, Any]:
        """Return the caller's actions on the whole resource, the applications' first.

        Those of an application that save first are in `saving_actions` of a page with a form.
        """
        resource, may_save, publishes = self.resource, Right.SAVE in self.rights, Right.PUBLISH in self.rights
        if resource is None:
            return {"actions": [], "saving_actions": []}
        added = additions.actions(self.caller, self.kind, resource, resource.current)
        saving = [action for action in added if self.has_edit_form and action.then]
        is_public = self.summary.entry.visibility == "public"
        offered = {
            "duplicate": (
                _("Duplicate…"),
                not may_save and self.caller.scope(Right.SAVE) != frozenset(),
            ),
            "discard": (
                _("Discard the draft…"),
                may_save and resource.has_draft and not resource.is_taken_down,
            ),
            "unpublish": (_("Unpublish…"), publishes and resource.active is not None),
            "visibility": (
                _("Make private…") if is_public else _("Make public…"),
                publishes and self.kind.has_visibility and self.code_agent is None,
            ),
            "delete": (_("Delete the override…") if self.code_agent else _("Delete…"), publishes),
        }
        own = [(title, self.address(page)) for page, (title, is_offered) in offered.items() if is_offered]
        links = [(action.title, action.address) for action in added if action not in saving]
        return {"actions": [*links, *own], "saving_actions": saving}


class VersionFormPage(ResourcePage):
    """A page with a form about one version: `version` in the query or in the form, by default the latest."""

    tab = "history"
    nothing_stored: Message
    """The error for an agent that only code defines."""

    @property
    def stored_resource(self) -> VersionedResource:
        """The resource; raises `NotFound` if it has no stored version."""
        if self.with_history is None:
            raise NotFound(self.nothing_stored)
        return self.with_history

    @cached_property
    def version(self) -> Snapshot:
        """The version; raises `NotFound` and `Forbidden` as reading does."""
        fields = self.request.POST if self.request.method == "POST" else self.request.GET
        version_id = fields.get("version") or self.stored_resource.current.version_id
        version: Snapshot = self.collection.version(self.resource_id, version_id, by=self.caller).version
        return version


def proposed_copy(resource_id: str) -> str:
    """Return an id for a copy, in the same folder; empty if no such id is possible."""
    proposed = f"{resource_id}-copy"
    return proposed if ids.problem(proposed) is None else ""
