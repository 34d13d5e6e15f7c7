"""Duplicating a resource: a copy with its own id, which begins as a draft."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from studio.resources.base import ResourcePage, proposed_copy
from studio.resources.create import workspace_choices
from studio.translation import translated
from versioning.domain.access import Right
from versioning.domain.errors import Forbidden, IdTaken, Invalid, NotFound
from versioning.domain.selectors import PUBLISHED, Selector
from versioning.models import VersionedResource
from versioning.serving.resolution import Resolved

FIELDS: Final = ("id", "name", "workspace", "proposed")
_MAX_TRIES: Final = 50
_FIELD_OF: Final = {"newId": "id", "workspaceId": "workspace"}


class DuplicatePage(ResourcePage):
    """Asks for the id of the copy, with a proposal, and creates it."""

    def get(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Show the form with a proposed id."""
        proposed = proposed_copy(self.source.pk)
        return self._form({"id": proposed, "proposed": proposed, "workspace": self.workspace_id})

    def post(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Create the copy and open it; after an error, show the form with the reason."""
        given = {name: request.POST.get(name, "").strip() for name in FIELDS}
        try:
            made = self._copy(given)
        except IdTaken as error:
            return self._form(given, {"id": error.message}, status=409)
        except Invalid as error:
            errors = {_FIELD_OF.get(issue.field, issue.field): issue.message for issue in error.issues}
            return self._form(given, errors, status=400)
        except Forbidden as error:
            return self._form(given, {"workspace": error.message}, status=403)
        message = _("“%(name)s” is copied. The copy is a draft, and has no live version.")
        return self.go(self.kind.address("change", made.resource.pk), message % {"name": self.summary.name})

    @property
    def source(self) -> VersionedResource:
        """The resource to copy; raises `NotFound` for an agent that only code defines."""
        if self.resource is None:
            raise NotFound("This agent is exactly as its code defines it: nothing of it is stored here.")
        return self.resource

    def _copy(self, given: Mapping[str, str]) -> Resolved[Any]:
        """Create the copy; an unchanged proposed id may be replaced by any similar free one."""
        source = self.source
        drafts = self.may(Right.READ_DRAFTS)
        name = given["name"] or _("%(name)s (copy)") % {"name": self.summary.name}
        wanted = list(_like(given["id"])) if given["id"] == given["proposed"] else [given["id"]]
        for new_id in wanted:
            try:
                return self.collection.clone(
                    source.pk,
                    new_id,
                    Selector(version_id=source.current.version_id) if drafts else PUBLISHED,
                    name=name,
                    workspace=given["workspace"] or None,
                    by=self.caller,
                )
            except IdTaken:
                if new_id == wanted[-1]:
                    raise
        raise AssertionError  # the last attempt returned or raised

    def _form(
        self, given: Mapping[str, str], errors: Mapping[str, str] | None = None, *, status: int = 200
    ) -> HttpResponse:
        workspaces = workspace_choices(Right.SAVE, self.caller)
        if not workspaces:
            raise Forbidden("You may not save drafts in any workspace.")
        said = {field: translated(message) for field, message in (errors or {}).items()}
        return self.page(
            "studio/resources/duplicate.html",
            title=_("Duplicate %(name)s") % {"name": self.summary.name},
            status=status,
            given={"name": _("%(name)s (copy)") % {"name": self.summary.name}, **_without_empty_name(given)},
            errors=said,
            others=[message for field, message in said.items() if field not in FIELDS],
            workspaces=workspaces,
            duplicate="",  # the page shows it already
        )


def _like(resource_id: str) -> Iterator[str]:
    yield resource_id
    yield from (f"{resource_id}-{number}" for number in range(2, _MAX_TRIES))


def _without_empty_name(given: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in given.items() if value or name != "name"}
