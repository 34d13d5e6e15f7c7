"""Changes the mode in which a field is edited: one text, blocks, controls or JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext_lazy as _

from studio.editing.base import EditablePage
from studio.editing.forms import EditForm
from studio.editing.references import referred_to
from studio.field_words import OPERANDS, OPERATORS
from studio.forms.inputs import controls_of
from studio.forms.modes import MODES, rewritten, typed_value
from studio.translation import translated
from versioning.domain.access import Right
from versioning.domain.errors import Invalid, Issue, NotFound
from versioning.domain.overrides import code_config

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


class ConvertPage(EditablePage):
    """The controls of a field in another mode, with the typed value; a fragment of a page."""

    def post(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Return the field, or why it cannot be shown in that mode; nothing is saved."""
        self.require(Right.SAVE)
        name, before, mode = (request.GET.get(part, "") for part in ("field", "from", "to"))
        controls = controls_of(request.POST)
        form = EditForm.of(self.schema.names, controls, self.config, self.code_agent, self.kind.words.fields)
        if mode not in MODES.get(name, ()) or name not in {view.name for view in form.first}:
            raise NotFound
        try:
            value = typed_value(name, controls, before, self.schema)
            if not before and self.code_agent is not None:
                value = code_config(self.code_agent).get(name)
            controls.children[name] = rewritten(name, value, mode)
        except Invalid as error:
            return HttpResponse(_sentence(mode, error.issues), status=400, content_type="text/plain")
        form = EditForm.of(self.schema.names, controls, self.config, self.code_agent, self.kind.words.fields)
        return TemplateResponse(
            request,
            "studio/editing/converted.html",
            {
                "field": next(view for view in form.first if view.name == name),
                "code_agent": self.code_agent,
                "operators": OPERATORS,
                "operands": OPERANDS,
                "refers": referred_to(controls, self.caller),
            },
        )


_REFUSALS: Final[Mapping[str, StrOrPromise]] = {
    "text": _("This cannot be converted to one text: %(reasons)s. Nothing was changed."),
    "blocks": _("This cannot be converted to blocks: %(reasons)s. Nothing was changed."),
    "controls": _("This cannot be written in these fields: %(reasons)s. Nothing was changed."),
    "variants": _("This cannot be written as variants: %(reasons)s. Nothing was changed."),
    "json": _("This cannot be written as JSON: %(reasons)s. Nothing was changed."),
}


def _sentence(mode: str, issues: list[Issue]) -> str:
    return _REFUSALS[mode] % {"reasons": "; ".join(translated(issue.message) for issue in issues)}
