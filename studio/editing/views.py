"""The edit page: the latest version as form fields; saving creates a draft and publishes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.template.response import TemplateResponse
from django.utils.html import conditional_escape
from django.utils.text import capfirst
from django.utils.translation import gettext, gettext_lazy
from django.utils.translation import gettext_lazy as _
from editor_client.shared import canonical

from studio import additions, unsaved
from studio.diff.fields import differences
from studio.editing.base import EditablePage
from studio.editing.choices import known_names, known_providers, referred_to, refuse_unknown
from studio.editing.conflicts import Conflict, merged_with
from studio.editing.forms import EditForm, Submission, empty_rows, form_controls
from studio.editing.presence import list_others
from studio.editing.reading import ReadConfig
from studio.error_pages import wants_json
from studio.field_words import OPERANDS, OPERATORS, place_of, words_of
from studio.forms.inputs import Input, controls_of
from studio.forms.modes import MODES, rewritten, typed_value
from studio.limits import MAX_MESSAGES, PageBudget, first_of
from studio.marks import as_text
from studio.publishing.views import obstacle_to
from studio.translation import title_of, translate, translate_at_field
from versioning.domain import snapshots
from versioning.domain.access import Right
from versioning.domain.errors import EditConflict, IdTaken, Invalid, Issue, NotFound
from versioning.domain.overrides import code_config
from versioning.editor.workspaces import list_admins
from versioning.serving.resolution import Resolved

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


def answer_saved(
    request: HttpRequest, redirect: HttpResponseRedirect, here: str, saves_on: Mapping[str, str]
) -> JsonResponse:
    """Answer a save with the messages of its page: `{"messages": […], …}`, or the `next` page.

    `redirect` is the answer to browsers. If it leads back `here`, the answer has the messages with their
    levels, as HTML, and `saves_on`, with which the open page continues.
    """
    if redirect.url != here:
        return JsonResponse({"next": redirect.url})
    page_messages = [
        {"level": message.level_tag, "html": conditional_escape(message.message)}
        for message in messages.get_messages(request)
    ]
    return JsonResponse({"messages": page_messages, **saves_on})


def answer_invalid(request: HttpRequest, controls: Input, unplaced: Sequence[Issue]) -> JsonResponse:
    """Answer an invalid form: the `errors` of its controls by their names, and the other `problems`."""
    problems = [
        as_text(f"{place_of(issue.field)}: {translate(issue.message)}", request) for issue in unplaced
    ]
    return JsonResponse({"errors": dict(_errors(controls, request)), "problems": problems}, status=400)


def conflict() -> JsonResponse:
    """Answer a form after another person's save: the browser loads the page that shows both."""
    return JsonResponse({"conflict": True}, status=409)


def _errors(controls: Input, request: HttpRequest) -> Iterator[tuple[str, list[Any]]]:
    if controls.errors:
        yield (
            controls.path,
            [as_text(capfirst(translate_at_field(error)), request) for error in controls.errors],
        )
    for child in controls.children.values():
        yield from _errors(child, request)


TAKE_BOTH: Final = "both"
"""The value of `then` to show a form with the changes of both people after a conflict."""
PREFER_OURS: Final = "both-ours"
PREFER_THEIRS: Final = "both-theirs"
"""The values of `then` that do so with the wording of one side in conflicts."""
REPLACE: Final = "replace"
"""The value of `then` to save after a conflict in which both changed the same value."""
UNDECIDED: Final = "undecided:"
"""The prefix of the entity tag of a form that shows such a conflict, so that a normal save is refused again.
"""
UNCHANGED: Final = gettext_lazy("Nothing was changed, so nothing was saved.")


class EditPage(EditablePage):
    has_edit_form = True

    def get(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Show the latest version, or the published one to callers without access to drafts."""
        self._hear_of_others()
        if not self.may(Right.SAVE):
            return self._to_read()
        metadata = self.resource.metadata if self.resource else {}
        return self._form(form_controls(self.config, self.names, metadata), **self._saves_on())

    def post(self, request: HttpRequest, resource: str) -> HttpResponse:
        self._hear_of_others()
        self.require(Right.SAVE)
        submission = self.submission(controls_of(request.POST))
        controls = submission.controls
        instead = self._instead_of_saving(submission)
        if instead is not None:
            return instead
        try:
            submission.check(self.schema)
            if submission.changed:
                self.schema.edit_config(self.config, submission.changed)  # raises if they are invalid anyway
                in_code = code_config(self.code_agent) if self.code_agent is not None else {}
                known = [self.config, submission.began_with or {}, in_code]
                refuse_unknown(submission.changed, known, self.caller)
            saved = self._save(submission)
        except EditConflict:
            return self._conflict_in_place(submission) if self.is_in_place else self._conflict(submission)
        except Invalid as error:
            unplaced = submission.reading.attach(error.issues)
            if self.is_in_place:
                return answer_invalid(request, controls, unplaced)
            # The form still belongs to its original version, not to later ones.
            original = {name: controls[name].typed for name in ("tag", "base")}
            return self._form(controls, status=400, errors=unplaced, is_typed=True, **original)
        before = self.resource.latest_id if self.resource is not None else ""
        is_new = saved is not None and saved.resource.latest_id != before
        return self._respond(saved, submission, is_new=is_new)

    def _instead_of_saving(self, submission: Submission) -> HttpResponse | None:
        """Return the answer to a form that must not be saved, or not yet; None for all others."""
        then = submission.controls["then"].typed
        if then == unsaved.RESTORE:
            if submission.controls["base"].typed == self._saves_on()["base"]:
                return self._form(submission.controls, is_typed=True, restored=True, **self._saves_on())
            return self._conflict(submission, status=200, restored=True)
        if then in {TAKE_BOTH, PREFER_OURS, PREFER_THEIRS}:
            return self._both(submission)
        if then == REPLACE or not submission.controls["tag"].typed.startswith(UNDECIDED):
            return None
        # Saving once more, such as with Ctrl+S, must not replace what another person has saved.
        if self.is_in_place:
            return conflict()
        original = submission.controls[
            "began"
        ].typed  # the version from which the form started before the conflict
        return self._conflict(replace(submission, began_with=self.find_config(original)), began=original)

    @property
    def is_in_place(self) -> bool:
        return wants_json(self.request)

    def _respond(self, saved: Resolved[Any] | None, submission: Submission, *, is_new: bool) -> HttpResponse:
        redirect = self._after(saved, then=submission.controls["then"].typed, is_new=is_new)
        if not self.is_in_place:
            return redirect
        if saved is not None:
            self.forget("base")
            self.resource = saved.resource
        self._hear_of_others()  # changes saved here are not news to this page
        saves_on = self._saves_on()
        news = {"news": self.news_address, "source": self._news_since(saves_on["base"])}
        title = snapshots.version_title(self.base) if self.base else ""
        return answer_saved(
            self.request, redirect, self.address("change"), {**saves_on, "title": title, **news}
        )

    def _to_read(self) -> HttpResponse:
        """Return the live version as a read-only page, for people who cannot change it."""
        read = ReadConfig.of(self.effective(self.base), self.kind.text_field, self.caller)
        text_title, title = words_of(self.kind.text_field, self.kind.words.fields).title, self.summary.name
        admins = list_admins([self.workspace_id], by=self.caller)
        return self.page(
            "studio/editing/view.html",
            title=title,
            version=self.base,
            read=read,
            text_title=text_title,
            admins=admins.get(self.workspace_id, []),
        )

    def _hear_of_others(self) -> None:
        self.listen(self.scope)

    def _save(self, submission: Submission) -> Resolved[Any] | None:
        """Save the changes; returns None for a new override without any."""
        about: dict[str, Any] = {
            "metadata": submission.metadata,
            "message": submission.controls["changeMessage"].typed,
            "by": self.caller,
        }
        if self.resource is not None:
            etag = submission.controls["tag"].typed.removeprefix(UNDECIDED)
            return self.collection.edit(
                self.resource_id,
                submission.changed,
                expect={etag},
                default_message="",
                from_live=True,
                **about,
            )
        if not submission.changed and not submission.metadata:
            return None
        try:
            return self.collection.create(submission.changed, id=self.resource_id, publish=False, **about)
        except IdTaken:
            # The override was made in the meantime: a conflict like any other.
            raise EditConflict({}) from None

    def _after(self, saved: Resolved[Any] | None, *, then: str, is_new: bool) -> HttpResponseRedirect:
        if saved is None:
            return self.back("change", str(UNCHANGED), level=messages.INFO)
        warnings = dict.fromkeys(translate(warning.message) for warning in saved.warnings)
        for warning in first_of(list(warnings), MAX_MESSAGES):
            self.tell(warning)
        message = (
            gettext("%(version)s is saved as a draft.") % {"version": title_of(saved.version)}
            if is_new
            else ""
        )
        if then == "publish":
            return self.go(f"{self.address('publish')}?version={saved.version.version_id}", message)
        further = additions.after_saving(then)
        if further is not None:
            return self.go(further(self.caller, self.kind, saved.resource, saved.version), message)
        if is_new:
            return self.back("change", self.with_next_steps(message, saved.resource, saved.version))
        if self.resource is not None and saved.resource.etag != self.resource.etag:
            return self.back("change", gettext("Saved. The text is as it was, so there is no new version."))
        return self.back("change", str(UNCHANGED), level=messages.INFO)

    def _conflict_in_place(self, submission: Submission) -> HttpResponse:
        """Answer a script after a conflict, unless its data equals the last save.

        That is so if the form was saved before, and only the answer was lost.
        """
        self.forget("base")
        original = submission.began_with
        is_saved = (
            self.resource is not None
            and original is not None
            and not submission.metadata
            and canonical.same(self.config, self.schema.merge(original, submission.changed))
        )
        if self.resource is None or not is_saved:
            return conflict()
        saved = Resolved(resource=self.resource, version=self.base or self.resource.base)
        return self._respond(saved, submission, is_new=bool(submission.changed))

    def _conflict(self, submission: Submission, *, status: int = 409, **context: Any) -> HttpResponse:
        self.forget("base")
        conflict = Conflict.of(submission, self.config, self.schema)
        controls = submission.rebase_on(self.config)
        page_context = {
            "conflict": conflict,
            "is_own_conflict": self.base is not None and self.base.author_name == self.caller.username,
            "began": submission.controls["base"].typed,
            **context,
            **self._saves_on(),
        }
        if conflict.must_choose:
            page_context["tag"] = UNDECIDED + page_context["tag"]
        return self._form(controls, status=status, is_typed=True, **page_context)

    def _both(self, submission: Submission) -> HttpResponse:
        """Show the form with the changes of both people, not saved yet.

        The form of the page about the conflict is based on the latest save; `began` is its original version.
        """
        original = submission.controls["began"].typed
        submission = replace(submission, began_with=self.find_config(original))
        then = submission.controls["then"].typed
        prefers_theirs = then == PREFER_THEIRS
        merged = merged_with(submission, self.config, self.schema, prefers_theirs=prefers_theirs)
        if merged is None or (merged.overlaps and then == TAKE_BOTH):
            return self._conflict(submission, began=original)
        changes = differences(self.config, merged.config, self.schema, PageBudget())
        controls = submission.showing(merged.config)
        return self._form(controls, is_typed=True, taken=changes, **self._saves_on())

    def _saves_on(self) -> dict[str, Any]:
        return {
            "tag": self.resource.etag if self.resource else "",
            "base": self.base.version_id if self.base else "",
        }

    def _news_since(self, base: str) -> str:
        """Return the address at which the open page reads later events."""
        since = urlencode({"after": self.position, "base": base})
        return f"{self.address('since')}?{since}"

    def _form(self, controls: Input, *, status: int = 200, **context: Any) -> HttpResponse:
        context_form = self.context_form(self.effective(self.base), drafts=False)
        previewing = ("preview", "context") if self.kind.has_preview else ()
        resource = self.resource
        obstacle = obstacle_to(resource, resource.current, self.caller) if resource else None
        helpers = ("choices", "convert", "names", "present", "reference", *previewing)
        return self.page(
            "studio/editing/edit.html",
            title=self.summary.name,
            status=status,
            form=EditForm.of(self.names, controls, self.config, self.code_agent, self.kind.words.fields),
            controls=controls,
            version=self.base,
            panels=self.panels("edit", self.base, self.schema.names, self.blocks_in_the_way(obstacle)),
            obstacle=obstacle,
            publish_address=self.address("publish"),
            present=list_others(self),
            base_title=snapshots.version_title(self.base) if self.base else "",
            code_agent=self.code_agent,
            empty=empty_rows(),
            operators=OPERATORS,
            operands=OPERANDS,
            providers=known_providers(),
            known=known_names(self.resource_id, context_form.controls),
            refers=referred_to(controls, self.caller),
            context_form=context_form,
            addresses={name: self.address(name) for name in helpers},
            live_source=self._news_since(context["base"]),
            **context,
        )


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
            reasons = "; ".join(translate(issue.message) for issue in error.issues)
            sentence = _REFUSALS[mode] % {"reasons": reasons}
            return HttpResponse(sentence, status=400, content_type="text/plain")
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
