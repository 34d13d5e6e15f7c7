"""The lists of agents and of prompt blocks; setting a star."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, Final

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from studio import additions, unsaved
from studio.error_pages import came_from
from studio.extensions import ChosenOn
from studio.field_words import words_of
from studio.kinds import AGENT, StudioKind
from studio.limits import shorten
from studio.models import SavedFilter
from studio.resources.base import ResourcePage, proposed_copy
from studio.resources.filters import (
    MAX_FILTERS,
    OLD_STATES,
    FilterForm,
    heads,
    quick_chips,
    tag_chip,
    tree,
    value_of_matching,
)
from studio.resources.rows import Columns, ResourceRow, find_stars
from studio.translation import translate
from studio.views import StudioPage
from studio.workspaces.names import workspace_choices
from versioning.domain.access import Right
from versioning.domain.config import Config
from versioning.domain.errors import Forbidden, IdTaken, Invalid, NotFound
from versioning.domain.selectors import PUBLISHED, Selector
from versioning.editor.bulk import MAX_CHOSEN
from versioning.editor.catalog import Entry, overview
from versioning.models import VersionedResource
from versioning.serving.resolution import Resolved

PER_PAGE: Final = 50


class ListPage(StudioPage):
    kind: StudioKind = AGENT

    def get(self, request: HttpRequest) -> HttpResponse:
        state = OLD_STATES.get(request.GET.get("state", ""))
        if state is not None:
            query = request.GET.copy()
            query["state"] = state
            return self.go(f"?{query.urlencode()}")
        self.listen({"resource_kind": self.kind.slug})
        catalog = self.kind.catalog(self.caller)
        list_overview = overview(catalog, self.editor.cache)
        form = FilterForm(request.GET, kind=self.kind, caller=self.caller, overview=list_overview)
        filters = form.list_filter
        entries = catalog.search(filters, order=form.sorting, cache=self.editor.cache)
        page = self.paginate(entries, PER_PAGE)
        rows = self._rows(list(page.object_list))
        folders, folders_left_out = tree(list_overview.folders, filters.get("folder", ""))
        return self.page(
            "studio/resources/list.html",
            title=self.kind.title,
            kind=self.kind,
            form=form,
            wanted=filters,
            page=page,
            counted=self.kind.count_in_words(page.paginator.count),
            rows=rows,
            columns=Columns.of(list_overview),
            heads=heads(form),
            chips=quick_chips(form),
            tag_chips=[tag_chip(form, tag) for tag in filters.get("tag", ())],
            query=form.address()[1:],
            folders=folders,
            folders_left_out=folders_left_out,
            leave_folder=form.address(folder=""),
            may_create=self.kind.admin.has_add_permission(self.request),
            add_address=self.kind.address("add"),
            list_address=request.path,
            **self._saved_filters(form),
            **self._choosing(rows, page.paginator.count),
        )

    def _rows(self, entries: Sequence[Entry]) -> list[ResourceRow]:
        stored = {entry.id: entry.workspace_id for entry in entries if entry.version}
        starred = find_stars(self.kind, list(stored), self.caller)
        notes = additions.list_notes(self.caller, self.kind, stored)
        return [
            ResourceRow(
                kind=self.kind,
                entry=entry,
                caller=self.caller,
                star=starred.get(entry.id),
                notes=notes.get(entry.id, ()),
            )
            for entry in entries
        ]

    def _saved_filters(self, form: FilterForm) -> dict[str, Any]:
        query = form.address()[1:]
        saved = list(SavedFilter.objects.of(self.caller.user_id, self.kind.slug))
        is_saved = any(filter_.query == query for filter_ in saved)
        return {
            "saved_filters": [
                {"name": filter_.name, "query": filter_.query, "current": filter_.query == query}
                for filter_ in saved
            ],
            "may_save_filter": form.is_narrowed and not is_saved and len(saved) < MAX_FILTERS,
            "filters_address": self.kind.address("filters"),
        }

    def _choosing(self, rows: list[ResourceRow], count: int) -> dict[str, Any]:
        """Return the actions on chosen resources; none if the caller may change no resource."""
        if not any(row.chosen for row in rows):
            return {"choosing": []}
        publishes = self.kind.admin.has_publish_permission(self.request)
        offered = {
            "publish_chosen": (_("Publish…"), publishes),
            "label_chosen": (_("Label…"), publishes),
            "tag_chosen": (_("Tag…"), True),
        }
        further = additions.collect(lambda extension: extension.chosen(self.caller, ChosenOn.LIST))
        more = (
            _("All %(count)s matches")
            if count <= MAX_CHOSEN
            else _("The first %(most)s of %(count)s that match")
        )
        return {
            "choosing": [
                *(
                    (title, reverse(f"studio:{name}"))
                    for name, (title, is_there) in offered.items()
                    if is_there
                ),
                *((action.title, action.address) for action in further),
            ],
            "matching": value_of_matching(self.kind, self.request.GET.urlencode()),
            "matching_title": more % {"count": count, "most": MAX_CHOSEN},
            "offers_matching": count > len(rows),
        }


class StarPage(ResourcePage):
    """Sets or removes a star: a form without its own page."""

    def get(self, request: HttpRequest, resource: str) -> HttpResponse:
        return self.go(self.address("change"))

    def post(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Set it with `starred=yes`, otherwise remove it; answer a script, or redirect to the page."""
        change = (
            self.collection.favorite if request.POST.get("starred") == "yes" else self.collection.unfavorite
        )
        _, favorited = change(self.resource_id, by=self.caller)
        if request.headers.get("Accept") == "application/json":
            return JsonResponse({"starred": favorited.by_caller})
        return self.go(came_from(request) or self.address("change"))


FIELDS: Final = ("name", "id", "workspace", "text", "choice")
_USUAL_ID: Final = re.compile(r"[A-Za-z0-9._/-]*")
"""Ids can contain nearly all characters; only with these do addresses and programs show them unchanged."""
_MAX_TOLD: Final = 60
"""The maximum length of a name in the message that its resource is saved."""
_SPELT_OUT: Final = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})
LINE_BREAK: Final = "\r\n"
"""The line break that browsers send."""


def errors_at_fields(
    error: Invalid | IdTaken | Forbidden, fields: Mapping[str, str]
) -> tuple[dict[str, str], int]:
    """Return the errors of a verb that creates a resource, by field, and the status of the answer.

    `fields` are the fields of the form, by the verb's names for them, if these differ.
    """
    if isinstance(error, Invalid):
        return {fields.get(issue.field, issue.field): issue.message for issue in error.issues}, 400
    return ({"id": error.message}, 409) if isinstance(error, IdTaken) else ({"workspace": error.message}, 403)


class CreatePage(StudioPage):
    kind: StudioKind = AGENT

    def get(self, request: HttpRequest) -> HttpResponse:
        workspaces = self._workspaces()
        if not self.kind.admin.has_add_permission(request):
            raise Forbidden("You may not save drafts in any workspace.")
        requested = request.GET.get("workspace", "")
        return self._form({"workspace": requested}, {}, workspaces)

    def post(self, request: HttpRequest) -> HttpResponse:
        """Save the first version as a draft and open it; after an error, show the form again."""
        data = {name: request.POST.get(name, "").replace(LINE_BREAK, "\n") for name in FIELDS}
        if request.POST.get("then") == unsaved.RESTORE:
            return self._form(data, {}, self._workspaces(), restored=True)
        resource_id = data["id"].strip()
        if not _USUAL_ID.fullmatch(resource_id) and request.POST.get("unusual") != resource_id:
            return self._form(data, {}, self._workspaces(), status=400, unusual=resource_id)
        choice = self.kind.words.first_choice
        beginning: Config = {"name": data["name"].strip()}
        if choice is None:
            beginning[self.kind.text_field] = data["text"]
        else:
            beginning |= {choice.field: data["choice"], **choice.begins(data["choice"])}
        try:
            resolved = self.kind.collection.create(
                beginning,
                id=resource_id or None,
                workspace=data["workspace"] or None,
                publish=False,
                by=self.caller,
            )
        except (Invalid, IdTaken, Forbidden) as error:
            first = self.kind.text_field if choice is None else choice.field
            fields = {"workspaceId": "workspace", first: "text" if choice is None else "choice"}
            errors, status = errors_at_fields(error, fields)
            return self._form(data, errors, self._workspaces(), status=status)
        resource_id = resolved.resource.pk
        message = _("“%(name)s” is saved as a draft. Nothing is live until it is published.")
        message %= {"name": shorten(data["name"].strip(), _MAX_TOLD)}
        return self.go(self.kind.address("change", resource_id), message)

    def _workspaces(self) -> list[tuple[str, str]]:
        return workspace_choices(Right.SAVE, self.caller)

    def _form(
        self,
        values: Mapping[str, str],
        errors: Mapping[str, str],
        workspaces: list[tuple[str, str]],
        *,
        status: int = 200,
        restored: bool = False,
        unusual: str = "",
    ) -> HttpResponse:
        other_errors: list[Any] = [message for field, message in errors.items() if field not in FIELDS]
        words = self.kind.words
        first_field = self.kind.text_field if words.first_choice is None else words.first_choice.field
        return self.page(
            "studio/resources/create.html",
            title=str(words.new),
            asked=words_of(first_field, words.fields),
            status=status,
            kind=self.kind,
            list_address=self.kind.address("changelist"),
            given=values,
            errors=errors,
            others=other_errors,
            workspaces=workspaces,
            restored=restored,
            unusual=unusual,
            usual=usual_id(unusual),
        )


def usual_id(text: str) -> str:
    """Return an id of usual characters that resembles a text: `grosses-ae` for `Großes Ä!`; may be empty."""
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFC", text.lower()).translate(_SPELT_OUT))
    segments = (
        re.sub(r"[^a-z0-9._]+", "-", re.sub(r"[^\x00-\x7f]", "", segment)) for segment in plain.split("/")
    )
    return "/".join(name for segment in segments if (name := segment.strip("-._")))


COPIED_FIELDS: Final = ("id", "name", "workspace", "proposed")
_MAX_TRIES: Final = 50


class DuplicatePage(ResourcePage):
    def get(self, request: HttpRequest, resource: str) -> HttpResponse:
        proposed = proposed_copy(self.source.pk)
        return self._form({"id": proposed, "proposed": proposed, "workspace": self.workspace_id})

    def post(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Create the copy and open it; after an error, show the form with the reason."""
        data = {name: request.POST.get(name, "").strip() for name in COPIED_FIELDS}
        try:
            copy = self._copy(data)
        except (Invalid, IdTaken, Forbidden) as error:
            errors, status = errors_at_fields(error, {"newId": "id", "workspaceId": "workspace"})
            return self._form(data, errors, status=status)
        message = _("“%(name)s” is copied. The copy is a draft, and has no live version.")
        return self.go(self.kind.address("change", copy.resource.pk), message % {"name": self.summary.name})

    @property
    def source(self) -> VersionedResource:
        """The resource to copy; raises `NotFound` for an agent that only code defines."""
        if self.resource is None:
            raise NotFound("This agent is exactly as its code defines it: nothing of it is stored here.")
        return self.resource

    def _copy(self, data: Mapping[str, str]) -> Resolved[Any]:
        """Create the copy; an unchanged proposed id may be replaced by any similar free one."""
        source = self.source
        drafts = self.may(Right.READ_DRAFTS)
        name = data["name"] or _("%(name)s (copy)") % {"name": self.summary.name}
        ids = [data["id"]]
        if data["id"] == data["proposed"]:
            ids += [f"{data['id']}-{number}" for number in range(2, _MAX_TRIES)]
        for new_id in ids:
            try:
                return self.collection.clone(
                    source.pk,
                    new_id,
                    Selector(version_id=source.current.version_id) if drafts else PUBLISHED,
                    name=name,
                    workspace=data["workspace"] or None,
                    by=self.caller,
                )
            except IdTaken:
                if new_id == ids[-1]:
                    raise
        raise AssertionError  # the last attempt returned or raised

    def _form(
        self, values: Mapping[str, str], errors: Mapping[str, str] | None = None, *, status: int = 200
    ) -> HttpResponse:
        workspaces = workspace_choices(Right.SAVE, self.caller)
        if not workspaces:
            raise Forbidden("You may not save drafts in any workspace.")
        messages = {field: translate(message) for field, message in (errors or {}).items()}
        return self.page(
            "studio/resources/duplicate.html",
            title=_("Duplicate %(name)s") % {"name": self.summary.name},
            status=status,
            given={
                "name": _("%(name)s (copy)") % {"name": self.summary.name},
                **{name: value for name, value in values.items() if value or name != "name"},
            },
            errors=messages,
            others=[message for field, message in messages.items() if field not in COPIED_FIELDS],
            workspaces=workspaces,
            duplicate="",  # the page already shows it
        )
