"""Change how a field of the edit page is edited: as one text, blocks, controls or JSON."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from studio.editing.forms import EditForm
from studio.editing.references import referred_to
from studio.editing.views import EditablePage
from studio.forms.inputs import controls_of
from studio.forms.modes import MODES, rewritten, typed_value
from studio.forms.words import OPERANDS, OPERATORS
from versioning.domain.access import Right
from versioning.domain.errors import Invalid, Issue, NotFound
from versioning.domain.overrides import code_config


class ConvertPage(EditablePage):
    """The controls of a field in another mode, with what was typed; a fragment of a page."""

    def post(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Return the field, or the reason why that mode cannot express it; nothing is saved."""
        self.require(Right.SAVE)
        name, before, mode = (request.GET.get(part, "") for part in ("field", "from", "to"))
        controls = controls_of(request.POST)
        form = EditForm.of(self.schema.names, controls, self.config, self.code_agent)
        if mode not in MODES.get(name, ()) or name not in {view.name for view in form.first}:
            raise NotFound
        try:
            value = typed_value(name, controls, before, self.schema)
            if not before and self.code_agent is not None:
                value = code_config(self.code_agent).get(name)
            controls.parts[name] = rewritten(name, value, mode)
        except Invalid as error:
            return HttpResponse(_sentence(mode, error.issues), status=400, content_type="text/plain")
        form = EditForm.of(self.schema.names, controls, self.config, self.code_agent)
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


_WORDS = {"text": "one text", "blocks": "blocks", "controls": "fields", "json": "JSON"}


def _sentence(mode: str, issues: list[Issue]) -> str:
    why = "; ".join(issue.message for issue in issues)
    return f"This cannot be written as {_WORDS[mode]}: {why}. Nothing was changed."
