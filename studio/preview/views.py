"""Preview the text of the instructions in a context, and which blocks are shown.

It has its own page for what is saved, and is shown on the edit page for what is typed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from editor_client.shared.instructions import BlockReport

from studio.editing.forms import Submission
from studio.editing.views import EditablePage, controls_of
from studio.forms.context import context_controls, read_context
from studio.forms.inputs import Reading
from studio.forms.words import REASONS
from studio.limits import PageBudget
from studio.resources.blocks import BlockOnPage, blocks_on_page
from versioning.domain.access import Right
from versioning.domain.config import Config
from versioning.domain.errors import Invalid
from versioning.domain.overrides import laid_over
from versioning.domain.selectors import Selector, Status

MAX_BLOCKS: Final = 300
"""For how many blocks a preview says whether they are shown."""

_SORTS = {"text": "Text", "prompt_block": "Text with conditions", "prompt_block_ref": "Prompt block"}


@dataclass(frozen=True, kw_only=True)
class PreviewedBlock:
    """A block as the page shows it."""

    position: int
    sort: str
    id: str | None
    why_not: str
    """Why it was left out; empty when it is shown."""
    used: BlockOnPage | None = None
    """Where the prompt block that it refers to stands, if the caller may read that."""


@dataclass(frozen=True, kw_only=True)
class Preview:
    """What a page shows of a preview."""

    text: str
    blocks: Sequence[PreviewedBlock]
    more_characters: int
    """How many are too many for the page."""
    more_blocks: int

    @classmethod
    def of(cls, text: str, reports: Sequence[BlockReport], used: Sequence[BlockOnPage] = ()) -> Preview:
        """Return the preview of assembled instructions, as much of it as a page shows.

        `used` are the prompt blocks that it refers to.
        """
        known = {block.id: block for block in used}
        shown = PageBudget().take(text)
        return cls(
            text=shown,
            more_characters=len(text) - len(shown),
            more_blocks=len(reports[MAX_BLOCKS:]),
            blocks=[
                PreviewedBlock(
                    position=report.position + 1,
                    sort=_SORTS[report.type],
                    id=report.id,
                    why_not=str(REASONS[report.reason]) if report.reason else "",
                    used=known.get(report.id or ""),
                )
                for report in reports[:MAX_BLOCKS]
            ],
        )


class InstructionsPage(EditablePage):
    """A page with assembled instructions, as if published now or with drafts of blocks."""

    @cached_property
    def with_drafts(self) -> bool:
        """Whether to show the drafts of prompt blocks; by default as if published now."""
        asked = self.request.POST if self.request.method == "POST" else self.request.GET
        return asked.get("blocks") == "drafts" and self.may(Right.READ_DRAFTS)

    def used(self, config: Config) -> list[BlockOnPage]:
        """Return the prompt blocks that a configuration refers to, with what is live and what is not."""
        return blocks_on_page(config, self.caller)


class SavedInstructionsPage(InstructionsPage):
    """A page about a saved version: the draft, or the published one."""

    @cached_property
    def statuses(self) -> list[Status]:
        """What there is to see for the caller: the draft where there is one, and what is published."""
        saved = self.resource
        found = []
        if saved is not None and saved.has_draft and self.may(Right.READ_DRAFTS):
            found.append(Status.DRAFT)
        if self.code_agent is not None or (saved is not None and saved.active is not None):
            found.append(Status.PUBLISHED)
        return found

    def saved(self, status: Status) -> Config:
        """Return the agent as served with the draft, or with the published version."""
        if self.resource is None:
            return self.effective(None)
        return self.effective(self.resource.latest if status is Status.DRAFT else self.resource.active)


class PreviewPage(SavedInstructionsPage):
    """A context to fill in, and the text of the instructions in that context."""

    tab = "preview"

    def get(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Show what is saved in the context that the address names, at first in an empty one."""
        asked = controls_of(request.GET)
        reading = Reading()
        declared = context_controls(self.config.get("requestContextSchema"))
        wanted = self._wanted(asked["version"].typed)
        preview, errors = None, []
        try:
            preview = self._of_saved(wanted, read_context(asked, declared, reading))
        except Invalid as error:
            errors = reading.attach(error.issues)
        return self.page(
            "studio/preview/preview.html",
            title="Preview",
            errors=errors,
            preview=preview,
            asked=asked,
            context_rows=[(control, asked["given"].at(control.path)) for control in declared],
            wanted=wanted.value,
            with_drafts=self.with_drafts,
            offers_drafts=not self.kind.is_shown and self.may(Right.READ_DRAFTS),
            statuses=[status.value for status in self.statuses],
        )

    def post(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Show what is typed into the form at this moment; a part of a page, for the edit page."""
        self.require(Right.SAVE)
        submission = self.submission(controls_of(request.POST))
        declared = context_controls(self.config.get("requestContextSchema"))
        preview, errors = None, []
        try:
            submission.check(self.schema)
            preview = self._of_typed(submission, read_context(submission.controls, declared, Reading()))
        except Invalid as error:
            errors = error.issues
        return TemplateResponse(request, "studio/preview/result.html", {"preview": preview, "errors": errors})

    def _wanted(self, asked: str) -> Status:
        return next((status for status in self.statuses if status.value == asked), self.statuses[0])

    def _of_saved(self, status: Status, context: dict[str, Any]) -> Preview:
        selector = Selector(status=status)
        if self.kind.is_shown:
            version = self.collection.get(self.resource_id, selector, by=self.caller).version
            return self._of_block(version.config, context)
        served = self.editor.agent.preview(
            self.resource_id, selector, context=context, drafts_of_blocks=self.with_drafts, by=self.caller
        )
        return Preview.of(served.instructions, served.blocks, self.used(self.saved(status)))

    def _of_typed(self, submission: Submission, context: dict[str, Any]) -> Preview:
        config = self.schema.edited(submission.began_with or {}, submission.changed)
        if self.kind.is_shown:
            return self._of_block(config, context)
        config = laid_over(self.code_agent, config) if self.code_agent else config
        # The code of an agent may leave them to the editor.
        instructions = config.get("instructions", "")
        if isinstance(instructions, str):
            return Preview.of(instructions, [])
        text, reports = self.editor.prompt.preview(
            instructions, context, drafts=self.with_drafts, by=self.caller, field="instructions"
        )
        return Preview.of(text, reports, self.used(config))

    def _of_block(self, config: Config, context: dict[str, Any]) -> Preview:
        block = {"type": "prompt_block", "content": config["content"], "rules": config.get("rules")}
        return Preview.of(*self.editor.prompt.preview([block], context, by=self.caller))
