"""Preview the text of the instructions in a context, and which blocks are shown.

It has its own page for saved versions, and is shown on the edit page for unsaved text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from editor_client.shared.evaluation import Evaluation

from studio.editing.base import EditablePage
from studio.editing.forms import Submission
from studio.examples.changes import change_examples
from studio.examples.form import ContextForm
from studio.examples.stored import Examples
from studio.forms.inputs import controls_of
from studio.forms.instructions import is_unchosen
from studio.forms.rules import drop_empty_conditions
from studio.preview.columns import OverlayOnPage, named_overlay
from studio.preview.explained import Preview
from studio.resources.rows import BlockOnPage, blocks_on_page
from versioning.domain.access import Right
from versioning.domain.config import Config
from versioning.domain.errors import Invalid, Issue
from versioning.domain.overrides import merged_config
from versioning.domain.selectors import Selector, Status
from versioning.domain.snapshots import Snapshot
from versioning.editor import Explanation
from versioning.serving.overlays import read_overlay


class InstructionsPage(EditablePage):
    """A page with assembled instructions, as if published now or with drafts of blocks."""

    @cached_property
    def with_drafts(self) -> bool:
        """Whether to show the drafts of prompt blocks; by default as if published now."""
        requested = self.request.POST if self.request.method == "POST" else self.request.GET
        asked = requested.get("blocks") == "drafts" and named_overlay(requested) is None
        return asked and self.may(Right.READ_DRAFTS)

    def used(self, config: Config) -> list[BlockOnPage]:
        """Return the prompt blocks that a configuration refers to, with their live versions and drafts."""
        return blocks_on_page(config, self.caller)


class SavedInstructionsPage(InstructionsPage):
    """A page about a saved version: the draft, or the published one."""

    @cached_property
    def statuses(self) -> list[Status]:
        """The statuses that the caller may choose: the draft if there is one, and the published version."""
        saved = self.resource
        found = []
        is_draft = saved is not None and saved.has_draft and self.taken_back is None
        if is_draft and self.may(Right.READ_DRAFTS):
            found.append(Status.DRAFT)
        if self.code_agent is not None or (saved is not None and saved.active is not None):
            found.append(Status.PUBLISHED)
        return found

    @cached_property
    def overlay(self) -> OverlayOnPage | None:
        """The requested overlay, such as a release, shown as if it were live; None for none.

        Raises `NotFound` if it cannot be selected, or the caller may not know of it.
        """
        requested = self.request.POST if self.request.method == "POST" else self.request.GET
        found = named_overlay(requested)
        if found is not None:
            read_overlay(found.name, self.caller)
        return found

    @cached_property
    def overlaid(self) -> Snapshot | None:
        """The version that would be live if the overlay were; None for an agent that only code defines."""
        if self.resource is None or self.overlay is None:
            return None
        selector = Selector(overlay=self.overlay.name)
        version: Snapshot = self.collection.get(self.resource_id, selector, by=self.caller).version
        return version

    def saved(self, status: Status) -> Config:
        """Return the agent as served with the draft, or with the published version."""
        if self.resource is None:
            return self.effective(None)
        return self.effective(self.resource.latest if status is Status.DRAFT else self.resource.active)


class PreviewPage(SavedInstructionsPage):
    """A context to fill in, and the text of the instructions in that context."""

    tab = "preview"

    def get(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Show the saved version in the context named by the address, by default an empty one."""
        return self.preview_page(self.saved_form().take(request.GET))

    def post(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Show the unsaved form; parts of a page, for the edit page."""
        self.require(Right.SAVE)
        controls = controls_of(request.POST)
        # A new row is still empty, and must not prevent a preview of the others.
        blocks = controls.child("instructions").child("blocks").children
        for name in [name for name, row in blocks.items() if is_unchosen(row)]:
            del blocks[name]
        drop_empty_conditions(controls)
        submission = self.submission(controls)
        try:
            submission.check(self.schema)
            config = self._typed(submission)
        except Invalid as error:
            # Examples can be saved nevertheless.
            form = self.saved_form().take(request.POST)
            status = change_examples(form, request.POST.get("do", ""))
            return self.parts_of_page(form, None, error.issues, status=status)
        form = self.context_form(config, drafts=self.with_drafts).take(request.POST)
        status = change_examples(form, request.POST.get("do", ""))
        preview, errors = _previewed(form, lambda context: self._of_typed(config, context))
        return self.parts_of_page(form, preview, errors, status=status)

    def parts_of_page(
        self,
        form: ContextForm,
        preview: Preview | None,
        errors: Sequence[Issue],
        *,
        status: int = 200,
        **which: object,
    ) -> HttpResponse:
        """Return the parts that an open page replaces: its preview and its context."""
        context = {"preview": preview, "errors": errors, "context_form": form, **which, **self.places()}
        return TemplateResponse(self.request, "studio/preview/live.html", context, status=status)

    def saved_form(self) -> ContextForm:
        """Return an empty form for the context of the requested version."""
        return self.context_form(self._shown, drafts=self.with_drafts)

    def preview_page(self, form: ContextForm, *, status: int = 200) -> HttpResponse:
        preview, errors = _previewed(form, self._of_saved)
        which = {
            "wanted": self._wanted.value,
            "overlay": self.overlay,
            "with_drafts": self.with_drafts,
            "offers_drafts": not self.overlay and not self.kind.is_shown and self.may(Right.READ_DRAFTS),
        }
        if "fragment" in self.request.POST:
            return self.parts_of_page(form, preview, errors, status=status, **which)
        return self.page(
            "studio/preview/preview.html",
            title=_("Preview"),
            status=status,
            preview=preview,
            errors=errors,
            context_form=form,
            statuses=[one.value for one in self.statuses],
            **which,
            **self.places(),
        )

    def places(self) -> dict[str, object]:
        """Return the further template context for the fields of a context, on every page with them."""
        return {"addresses": {name: self.address(name) for name in ("preview", "context")}}

    @cached_property
    def _wanted(self) -> Status:
        requested = self.request.POST if self.request.method == "POST" else self.request.GET
        wanted = requested.get("version", "")
        return next((status for status in self.statuses if status.value == wanted), self.statuses[0])

    @property
    def _shown(self) -> Config:
        """The configuration served with the requested version."""
        return self.effective(self.overlaid) if self.overlay else self.saved(self._wanted)

    def _of_saved(self, context: Mapping[str, Any]) -> Preview:
        selector = Selector(overlay=self.overlay.name) if self.overlay else Selector(status=self._wanted)
        if self.kind.is_shown:
            version = self.collection.get(self.resource_id, selector, by=self.caller).version
            return self._of_block(version.config, context)
        explanation = self.editor.agent.explain(
            self.resource_id, selector, context=context, drafts_of_blocks=self.with_drafts, by=self.caller
        )
        return Preview.of(explanation, self.used(self._shown))

    def _typed(self, submission: Submission) -> Config:
        """Return the configuration that publishing the unsaved text would serve; raises `Invalid`."""
        config = self.schema.edited(submission.began_with or {}, submission.changed)
        return merged_config(self.code_agent, config) if self.code_agent else config

    def _of_typed(self, config: Config, context: Mapping[str, Any]) -> Preview:
        if self.kind.is_shown:
            return self._of_block(config, context)
        # Code may leave the instructions of an agent to the editor.
        instructions = config.get("instructions", "")
        if isinstance(instructions, str):
            return Preview.of(Explanation.of(instructions, Evaluation({}), {}))
        explanation = self.editor.prompt.explain(
            instructions, context, drafts=self.with_drafts, by=self.caller, field="instructions"
        )
        return Preview.of(explanation, self.used(config))

    def _of_block(self, config: Config, context: Mapping[str, Any]) -> Preview:
        block = {"type": "prompt_block", "content": config["content"], "rules": config.get("rules")}
        return Preview.of(self.editor.prompt.explain([block], context, by=self.caller))


def _previewed(
    form: ContextForm, preview: Callable[[Mapping[str, Any]], Preview]
) -> tuple[Preview | None, Sequence[Issue]]:
    """Return the preview in the context of a form, or the errors of the context or the text.

    Errors of the context are shown next to its fields, too: an open page does not renew those at once.
    """
    try:
        return preview(form.read()), []
    except Invalid as error:
        return None, error.issues


class ContextPage(PreviewPage):
    """The preview page for a posted form; for scripts, parts of the page and the context as JSON."""

    def get(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Return the context of the example that the address names, as JSON, or go to the preview."""
        if "example" not in request.GET:
            return self.go(self.address("preview"))
        example = Examples.of(self.kind, self.resource_id, self.resource, self.caller).get(
            request.GET.get("example", "")
        )
        return JsonResponse({"name": example.name, "context": example.context})

    def post(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Perform the button's action, and show the saved version in the posted context."""
        form = self.saved_form().take(request.POST)
        status = change_examples(form, request.POST.get("do", ""))
        return self.preview_page(form, status=status)
