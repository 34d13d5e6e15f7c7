"""The edit page: the latest version as form fields; saving creates a draft and publishes nothing."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Final
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from studio import extensions
from studio.diff.fields import differences
from studio.editing.choices import known_names
from studio.editing.forms import EditForm, Submission, empty_rows, form_controls
from studio.editing.reading import ReadConfig
from studio.editing.references import referred_to
from studio.editing.unknown import refuse_unknown
from studio.examples.form import ContextForm
from studio.examples.stored import Examples
from studio.forms.inputs import Input, controls_of
from studio.forms.wording import OPERANDS, OPERATORS, PROVIDERS, titles, words_of
from studio.limits import MAX_MESSAGES, PageBudget, first_of
from studio.publishing.obstacles import obstacle_to
from studio.resources import unsaved
from studio.resources.base import ResourcePage
from studio.translation import translated
from studio.versions import title_of
from versioning.domain import snapshots
from versioning.domain.access import Right
from versioning.domain.config import Config, ConfigSchema
from versioning.domain.errors import EditConflict, IdTaken, Invalid, NotFound
from versioning.domain.overrides import code_config
from versioning.domain.snapshots import Snapshot
from versioning.serving.resolution import Resolved

UNCHANGED: Final = gettext_lazy("Nothing was changed, so nothing was saved.")


def _half_a_budget() -> PageBudget:
    """Return the budget of one of two comparisons on a page."""
    whole = PageBudget()
    return PageBudget(
        characters=whole.characters // 2,
        lines=whole.lines // 2,
        changes=whole.changes // 2,
        steps=whole.steps // 2,
    )


class EditablePage(ResourcePage):
    """A page about the version that the next edit starts from."""

    @cached_property
    def base(self) -> Snapshot | None:
        """The version to start from: the latest, or the published one for callers who may not read drafts.

        None for an agent that is only defined in code.
        """
        if self.resource is None:
            return None
        return self.resource.base if self.may(Right.READ_DRAFTS) else self.resource.active

    @property
    def config(self) -> Config:
        """The configuration of the version to start from."""
        return self.base.config if self.base else {}

    @property
    def schema(self) -> ConfigSchema:
        """The schema of the resource's versions."""
        return self.collection.schema_of(self.resource_id)

    def config_of(self, version_id: str) -> Config | None:
        """Return the configuration of a version: empty without an id, None if the version is gone."""
        if not version_id:
            return {}
        if self.base and self.base.version_id == version_id:
            return self.config
        try:
            return self.collection.version(self.resource_id, version_id, by=self.caller).version.config
        except NotFound:
            return None

    def context_form(self, *configs: Config, drafts: bool) -> ContextForm:
        """Return an empty form for a context; `drafts` are those of prompt blocks in the configurations."""
        examples = Examples.of(self.kind, self.resource_id, self.resource, self.caller)
        return ContextForm.of(configs, examples, drafts=drafts)

    def submission(self, controls: Input) -> Submission:
        """Return the posted form, compared with the version that it began with."""
        began_with = self.config_of(controls["base"].typed)
        return Submission.read(controls, began_with, self.config, self.schema.names)


class EditPage(EditablePage):
    """All fields, the buttons, and the preview next to them."""

    def get(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Show the latest version, or the published one to callers who may not read drafts."""
        self._hear_of_others()
        if not self.may(Right.SAVE):
            return self._to_read()
        metadata = self.resource.metadata if self.resource else {}
        return self._form(form_controls(self.config, self.schema.names, metadata), **self._saves_on())

    def post(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Save a draft, and continue to the page for publishing if requested."""
        self._hear_of_others()
        self.require(Right.SAVE)
        submission = self.submission(controls_of(request.POST))
        controls = submission.controls
        if controls["then"].typed == unsaved.RESTORE:
            return self._restored(submission)
        try:
            submission.check(self.schema)
            self._refuse_unknown(submission)
            saved = self._save(submission)
        except EditConflict:
            return self._conflict(submission)
        except Invalid as error:
            unplaced = submission.reading.attach(error.issues)
            # The form still belongs to its original version, not to what was saved since.
            began = {name: controls[name].typed for name in ("tag", "base")}
            return self._form(controls, status=400, errors=unplaced, is_typed=True, **began)
        return unsaved.saved(request, self._after(saved, then=controls["then"].typed))

    def _to_read(self) -> HttpResponse:
        """Return the live version as a read-only page, for people who may not change it."""
        read = ReadConfig.of(self.effective(self.base), self.kind.text_field, self.caller)
        text_title, title = words_of(self.kind.text_field).title, self.summary.name
        return self.page(
            "studio/editing/view.html", title=title, version=self.base, read=read, text_title=text_title
        )

    def _hear_of_others(self) -> None:
        """Let the open page poll for changes of the resource by others."""
        self.listen({"resource_kind": self.kind.slug, "resource_id": self.resource_id})

    def _refuse_unknown(self, submission: Submission) -> None:
        """Raise `Invalid` if something was typed that leads nowhere, or if the changes are invalid anyway."""
        if not submission.changed:
            return
        self.schema.edited(self.config, submission.changed)
        in_code = code_config(self.code_agent) if self.code_agent is not None else {}
        refuse_unknown(submission.changed, [self.config, submission.began_with or {}, in_code], self.caller)

    def _save(self, submission: Submission) -> Resolved[Any] | None:
        """Save the changes; returns None for an override that would begin without any."""
        about: dict[str, Any] = {
            "metadata": submission.metadata,
            "message": submission.controls["changeMessage"].typed,
            "by": self.caller,
        }
        if self.resource is not None:
            etag = submission.controls["tag"].typed
            return self.collection.edit(
                self.resource_id, submission.changed, expect={etag}, default_message="", **about
            )
        if not submission.changed and not submission.metadata:
            return None
        try:
            return self.collection.create(submission.changed, id=self.resource_id, publish=False, **about)
        except IdTaken:
            # The override was made in the meantime: a conflict like any other.
            raise EditConflict({}) from None

    def _after(self, saved: Resolved[Any] | None, *, then: str) -> HttpResponse:
        if saved is None:
            return self.back("change", str(UNCHANGED), level=messages.INFO)
        for warning in first_of([translated(warning.message) for warning in saved.warnings], MAX_MESSAGES):
            messages.warning(self.request, warning)
        is_new = self.base is None or saved.version.version_id != self.base.version_id
        message = (
            _("%(version)s is saved as a draft.") % {"version": title_of(saved.version)} if is_new else ""
        )
        if then == "publish":
            return self.go(f"{self.address('publish')}?version={saved.version.version_id}", message)
        further = extensions.after_saving(then)
        if further is not None:
            return self.go(further(self.caller, self.kind, saved.resource, saved.version), message)
        if is_new:
            return self.back("change", self.with_next_steps(message, saved.resource, saved.version))
        if self.resource is not None and saved.resource.etag != self.resource.etag:
            return self.back("change", _("Saved. The text is as it was, so there is no new version."))
        return self.back("change", str(UNCHANGED), level=messages.INFO)

    def _restored(self, submission: Submission) -> HttpResponse:
        """Show unsaved text again, on top of newer saved changes."""
        if submission.controls["base"].typed == self._saves_on()["base"]:
            return self._form(submission.controls, is_typed=True, restored=True, **self._saves_on())
        return self._conflict(submission, status=200, restored=True)

    def _conflict(self, submission: Submission, *, status: int = 409, restored: bool = False) -> HttpResponse:
        """Show what another person saved, and the form to save on top of it."""
        for known in ("resource", "base", "summary"):
            self.__dict__.pop(known, None)
        before, latest = submission.began_with, self.config
        # Two comparisons and the form are on one page.
        theirs = differences(before, latest, self.schema, _half_a_budget()) if before is not None else []
        yours = differences(latest, {**latest, **submission.changed}, self.schema, _half_a_budget())
        their_names = {field.name for field in theirs}
        conflict = {
            "is_gone": before is None,
            "theirs": theirs,
            "yours": yours,
            "mine": titles(submission.changed),
            "both": titles(name for name in submission.changed if name in their_names),
        }
        controls = submission.on_top_of(self.config)
        return self._form(
            controls, status=status, conflict=conflict, is_typed=True, restored=restored, **self._saves_on()
        )

    def _saves_on(self) -> dict[str, Any]:
        """Return the hidden fields that name the version of the form."""
        return {
            "tag": self.resource.etag if self.resource else "",
            "base": self.base.version_id if self.base else "",
        }

    def _form(self, controls: Input, *, status: int = 200, **context: Any) -> HttpResponse:
        """Return the page with these controls."""
        context_form = self.context_form(self.effective(self.base), drafts=False)
        since = urlencode({"after": self.position, "base": context["base"]})
        previewing = ("preview", "context") if self.kind.has_preview else ()
        helpers = ("choices", "convert", "names", "reference", *previewing)
        return self.page(
            "studio/editing/edit.html",
            title=self.summary.name,
            status=status,
            form=EditForm.of(self.schema.names, controls, self.config, self.code_agent),
            controls=controls,
            version=self.base,
            panels=self.panels("edit", self.base, self.schema.names),
            obstacle=obstacle_to(self.resource, self.resource.latest, self.caller) if self.resource else None,
            publish_address=self.address("publish"),
            base_title=snapshots.title_of(self.base) if self.base else "",
            code_agent=self.code_agent,
            empty=empty_rows(),
            operators=OPERATORS,
            operands=OPERANDS,
            providers=PROVIDERS,
            known=known_names(self.resource_id, context_form.controls),
            refers=referred_to(controls, self.caller),
            context_form=context_form,
            addresses={name: self.address(name) for name in helpers},
            live_source=f"{self.address('since')}?{since}",
            **context,
        )
