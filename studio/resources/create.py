"""Creating a resource with the fields that a new one needs; the edit page has the rest."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from studio import unsaved
from studio.field_words import words_of
from studio.kinds import AGENT, StudioKind
from studio.limits import shortened
from studio.views import StudioPage
from versioning.domain.access import Caller, Right
from versioning.domain.config import Config
from versioning.domain.errors import Forbidden, IdTaken, Invalid
from versioning.editor.memberships import workspaces_with

FIELDS: Final = ("name", "id", "workspace", "text", "choice")
_USUAL_ID: Final = re.compile(r"[A-Za-z0-9._/-]*")
"""Ids may hold nearly everything; only with these characters addresses and programs show them as they are."""
_MAX_TOLD: Final = 60
"""The length of a name in the message that its resource is saved."""
_SPELT_OUT: Final = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})
LINE_BREAK: Final = "\r\n"
"""The line break that browsers send."""


class CreatePage(StudioPage):
    """A new resource, which begins as a draft."""

    kind: StudioKind = AGENT

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show the empty form."""
        workspaces = self._workspaces()
        if not self.kind.admin.has_add_permission(request):
            raise Forbidden("You may not save drafts in any workspace.")
        requested = request.GET.get("workspace", "")
        return self._form({"workspace": requested}, {}, workspaces)

    def post(self, request: HttpRequest) -> HttpResponse:
        """Save the first version as a draft and open it; after an error, show the form again."""
        given = {name: request.POST.get(name, "").replace(LINE_BREAK, "\n") for name in FIELDS}
        if request.POST.get("then") == unsaved.RESTORE:
            return self._form(given, {}, self._workspaces(), restored=True)
        resource_id = given["id"].strip()
        if not _USUAL_ID.fullmatch(resource_id) and request.POST.get("unusual") != resource_id:
            return self._form(given, {}, self._workspaces(), status=400, unusual=resource_id)
        try:
            made = self.kind.collection.create(
                {"name": given["name"].strip(), **self._beginning(given)},
                id=resource_id or None,
                workspace=given["workspace"] or None,
                publish=False,
                by=self.caller,
            )
        except Invalid as error:
            return self._form(given, self._by_field(error), self._workspaces(), status=400)
        except IdTaken as error:
            return self._form(given, {"id": error.message}, self._workspaces(), status=409)
        except Forbidden as error:
            return self._form(given, {"workspace": error.message}, self._workspaces(), status=403)
        resource_id = made.resource.pk
        message = _("“%(name)s” is saved as a draft. Nothing is live until it is published.")
        message %= {"name": shortened(given["name"].strip(), _MAX_TOLD)}
        return self.go(self.kind.address("change", resource_id), message)

    def _workspaces(self) -> list[tuple[str, str]]:
        return workspace_choices(Right.SAVE, self.caller)

    def _beginning(self, given: Mapping[str, str]) -> Config:
        """Return the other fields with which it begins: its text, or what follows from a choice."""
        choice = self.kind.words.first_choice
        if choice is None:
            return {self.kind.text_field: given["text"]}
        return {choice.field: given["choice"], **choice.begins(given["choice"])}

    def _by_field(self, error: Invalid) -> dict[str, str]:
        choice = self.kind.words.first_choice
        first = {self.kind.text_field: "text"} if choice is None else {choice.field: "choice"}
        fields = {"workspaceId": "workspace", **first}
        return {fields.get(issue.field, issue.field): issue.message for issue in error.issues}

    def _form(
        self,
        given: Mapping[str, str],
        errors: Mapping[str, str],
        workspaces: list[tuple[str, str]],
        *,
        status: int = 200,
        restored: bool = False,
        unusual: str = "",
    ) -> HttpResponse:
        others: list[Any] = [message for field, message in errors.items() if field not in FIELDS]
        words = self.kind.words
        asked = self.kind.text_field if words.first_choice is None else words.first_choice.field
        return self.page(
            "studio/resources/create.html",
            title=str(words.new),
            asked=words_of(asked, words.fields),
            status=status,
            kind=self.kind,
            list_address=self.kind.address("changelist"),
            given=given,
            errors=errors,
            others=others,
            workspaces=workspaces,
            restored=restored,
            unusual=unusual,
            usual=usual_id(unusual),
        )


def usual_id(text: str) -> str:
    """Return an id of usual characters that is like a text: `grosses-ae` for `Großes Ä!`; may be empty."""
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFC", text.lower()).translate(_SPELT_OUT))
    segments = (re.sub(r"[^a-z0-9._]+", "-", re.sub(r"[^\x00-\x7f]", "", one)) for one in plain.split("/"))
    return "/".join(found for segment in segments if (found := segment.strip("-._")))


def workspace_choices(right: Right, caller: Caller) -> list[tuple[str, str]]:
    """Return the (id, name) of the workspaces in which the caller has the right."""
    return list(workspaces_with(right, by=caller).values_list("pk", "name"))
