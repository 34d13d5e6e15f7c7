"""One version of a resource: its content, its labels, and its actions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from editor_client.shared import canonical, ids

from studio import additions
from studio.diff.fields import Condition, as_text, is_reference, readable
from studio.field_words import in_reading_order, titles, words_of
from studio.history.views import LiveWords, VersionLinksPage, live_in_words
from studio.limits import PageBudget
from studio.publishing.views import obstacle_to, reasons
from studio.resources.base import ResourcePage
from studio.resources.rows import blocks_on_page
from studio.translation import reference_to, title_of, translated
from versioning.domain.access import Right
from versioning.domain.errors import EditConflict, Forbidden, Invalid, NotFound
from versioning.domain.selectors import Selector
from versioning.domain.snapshots import Snapshot
from versioning.editor.live_periods import live_periods
from versioning.editor.timeline import Entry, entry_of, labels_of, previous_of
from versioning.models import VersionedResource

_LINES_OF_A_BLOCK: Final = 5
"""How many lines a block counts for, including its heading."""


@dataclass(frozen=True, kw_only=True)
class Piece:
    """A piece of a saved field."""

    title: str = ""
    text: str = ""
    condition: str = ""
    """Its condition in words; empty if it always applies."""
    block_id: str = ""
    """The id of the referenced prompt block; empty for its own text."""
    left_out: int = 0
    """How many characters were left out."""
    path: str = ""
    """The path of the text in the configuration, such as `instructions.2.content`; empty if it is none."""


def pieces_of(name: str, value: Any, budget: PageBudget) -> list[Piece]:
    """Return the value of a field in pieces: instructions by block, other values as a whole."""
    shown = readable(name, value)
    if name != "instructions" or not isinstance(shown, list):
        return [_text("", as_text(shown), "", budget, name if isinstance(value, str) else "")]
    pieces = []
    for place, block in enumerate(shown, 1):
        if budget.is_spent:
            more = len(shown) - place + 1
            message = ngettext("And %(count)s more block", "And %(count)s more blocks", more)
            pieces.append(Piece(title=message % {"count": more}))
            break
        budget.lines -= _LINES_OF_A_BLOCK
        title = _("Block %(number)s") % {"number": place}
        if is_reference(block):
            pieces.append(Piece(title=title, block_id=block["id"]))
        else:
            rules: Condition = block["rules"]
            condition, path = "" if rules.always else str(rules), f"{name}.{place - 1}.content"
            pieces.append(_text(title, block["content"], condition, budget, path))
    return pieces


def _text(title: str, text: str, condition: str, budget: PageBudget, path: str) -> Piece:
    taken = budget.take(text)
    return Piece(title=title, text=taken, condition=condition, left_out=len(text) - len(taken), path=path)


OFFERED_LABELS: Final = 100
SEEN_TOO_LATE: Final = gettext_lazy(
    "Someone changed this in the meantime, so nothing was done. Look again, then decide."
)


class OneVersionPage(VersionLinksPage):
    """A page about the version that the address names."""

    def version(self) -> Snapshot:
        """Return the version; raises `NotFound` and `Forbidden` as reading does."""
        wanted = self.kwargs["version"]
        found: Snapshot = self.collection.version(self.resource_id, wanted, by=self.caller).version
        return found

    def found(self) -> VersionedResource:
        """Return the resource, which a version always has."""
        if self.with_history is None:
            raise NotFound
        return self.with_history

    def entry(self, version: Snapshot) -> Entry:
        """Return the version as the history shows it."""
        resource = self.found()
        labels = labels_of(resource, [version]).get(version.version_id, ())
        previous = previous_of(resource, version) if self.may(Right.READ_DRAFTS) else None
        return entry_of(resource, version, labels, previous)

    def link(self, version: Snapshot) -> SafeString:
        """Return the version's name as a link to its page, for messages."""
        return self._link(version, title_of(version))

    def link_within(self, version: Snapshot) -> SafeString:
        """Return the same link for the middle of a sentence."""
        return self._link(version, reference_to(version))

    def _link(self, version: Snapshot, words: str) -> SafeString:
        return format_html(
            '<a class="link" href="{}">{}</a>', self.address("version", version.version_id), words
        )

    @property
    def expected(self) -> set[str]:
        """The entity tag of the state that the person saw."""
        return {self.request.POST.get("tag", "")}

    def seen_too_late(self) -> HttpResponse:
        """Return to the history, which shows what happened in the meantime."""
        return self.back("history", str(SEEN_TOO_LATE), level=messages.ERROR)


class VersionPage(OneVersionPage):
    """One version: its content and its actions."""

    def get(self, request: HttpRequest, resource: str, version: str) -> HttpResponse:
        """Show the version."""
        return self.show()

    def show(self, *, status: int = 200, **context: Any) -> HttpResponse:
        """Return the page, with errors of the input."""
        version = self.version()
        entry, resource = self.entry(version), self.found()
        budget = PageBudget()
        blocks = blocks_on_page(self.effective(version), self.caller)
        return self.page(
            "studio/history/version.html",
            title=title_of(version),
            status=status,
            entry=entry,
            version=version,
            links=self.links(resource, entry),
            is_current=entry.version.version_id == resource.current.version_id,
            previous=entry.previous,
            previous_address=self.address("version", entry.previous.version_id) if entry.previous else "",
            live=self._live(resource, version),
            fields=[
                (name, words_of(name).title, pieces_of(name, value, budget), name == self.kind.text_field)
                for name in in_reading_order(version.config)
                if (value := version.config[name]) is not None
            ],
            changed=titles(version.changed_fields) if entry.previous else (),
            known_labels=resource.labels.values_list("name", flat=True)[:OFFERED_LABELS],
            may_delete=self.may_delete(entry),
            blocks=blocks,
            blocks_by_id={block.id: block for block in blocks},
            panels=self.panels("version", version, version.config),
            obstacle=obstacle_to(resource, version, self.caller),
            notes=additions.notes(self.caller, self.kind, resource, [version]).get(version.version_id, ())
            if self.may(Right.READ_DRAFTS)
            else (),
            **context,
        )

    def _live(self, resource: VersionedResource, version: Snapshot) -> list[LiveWords]:
        """Return when it was live; nothing for people who may not know of other versions."""
        if not self.may(Right.READ_DRAFTS):
            return []
        lived = live_periods(self.editor.event, resource, by=self.caller, cache=self.editor.cache)
        return live_in_words(lived.by_version.get(version.version_id, ()), timezone.localdate())


class RestorePage(OneVersionPage):
    """Restores an older version as a draft."""

    def post(self, request: HttpRequest, resource: str, version: str) -> HttpResponse:
        """Restore it, and show the timeline with the new draft at the top."""
        try:
            saved = self.collection.restore(self.resource_id, version, by=self.caller, expect=self.expected)
        except EditConflict:
            return self.seen_too_late()
        message = _(
            "{copy} is a copy of {source}, and a draft: what is live stays live until the draft is published."
        )
        if saved.resource.repeats_live:
            message = _("{copy} is a copy of {source}, and is the same as what is live.")
        told = format_html(message, copy=self.link(saved.version), source=self.link(self.version()))
        next_page = "change" if request.POST.get("then") == "change" else "history"
        return self.back(next_page, self.with_next_steps(told, saved.resource, saved.version))


class LabelsPage(VersionPage):
    """Sets, moves and removes the labels of a version."""

    def post(self, request: HttpRequest, resource: str, version: str) -> HttpResponse:
        """Change the labels, and show the version again."""
        name, action = request.POST.get("name", "").strip(), request.POST.get("action")
        # A moved label keeps its state unless the switch is on.
        wanted = action == "release" or "released" in request.POST or None
        released = False if action == "withdraw" else wanted
        try:
            message = (
                self.remove(name) if action == "remove" else self.attach(name, version, released=released)
            )
        except EditConflict:
            return self.seen_too_late()
        except Invalid as refused:
            problem = "; ".join(translated(issue.message) for issue in refused.issues)
            return self.show(status=400, label_typed=name, label_error=problem, label_released=wanted)
        except Forbidden as refused:
            self.require(Right.PUBLISH)  # people who may not set labels get an error
            problem = " ".join(reasons(refused))
            return self.show(status=403, label_typed=name, label_error=problem, label_released=wanted)
        return self.go(self.address("version", version), message)

    def attach(self, name: str, version_id: str, *, released: bool | None) -> str:
        """Set, move or release a label and return the message."""
        problem = ids.label_problem(name)
        if problem is not None:
            raise Invalid.field("name", problem)
        before = self.found().labels.select_related("version").filter(name=name).first()
        _version, label = self.collection.label(
            self.resource_id, name, version_id, released=released, by=self.caller, expect=self.expected
        )
        came_from = before.version if before is not None and str(before.version_id) != version_id else None
        message = _("The label {label} is set.")
        if label.released:
            message = _("The label {label} is set and released.")
        if released is False:
            message = _("The label {label} is no longer released.")
        told = format_html(message, label=name)
        if came_from is None:
            return told
        where = format_html(_("It was at {version} before."), version=self.link_within(came_from))
        return format_html("{} {}", told, where)

    def remove(self, name: str) -> str:
        """Remove a label and return the message."""
        self.collection.unlabel(self.resource_id, name, by=self.caller, expect=self.expected)
        return _("The label %(label)s is removed.") % {"label": name}


class DeleteVersionPage(OneVersionPage):
    """Asks for confirmation before a version is deleted permanently."""

    def get(self, request: HttpRequest, resource: str, version: str) -> HttpResponse:
        """Ask for confirmation."""
        found = self.version()
        return self.page(
            "studio/history/version_delete.html",
            title=_("Delete %(version)s?") % {"version": reference_to(found)},
            version=found,
            entry=self.entry(found),
            version_address=self.address("version", found.version_id),
        )

    def post(self, request: HttpRequest, resource: str, version: str) -> HttpResponse:
        """Delete the version; an error is shown on the version's page."""
        title = title_of(self.version())
        try:
            self.collection.delete_version(self.resource_id, version, by=self.caller, expect=self.expected)
        except EditConflict:
            return self.seen_too_late()
        except Invalid as error:
            reason = {"version": title, "reason": translated(error.issues[0].message)}
            message = _("%(version)s %(reason)s.") % reason
            return self.go(self.address("version", version), message, level=messages.ERROR)
        return self.back("history", _("%(version)s is deleted.") % {"version": title})


class DownloadPage(ResourcePage):
    """Sends the exact bytes that an export, or a pull request, would contain."""

    def get(self, request: HttpRequest, resource: str, version: str) -> HttpResponse:
        """Send the file of one version."""
        selected = Selector(version_id=version)
        config = self.collection.export(self.resource_id, selector=selected, by=self.caller)
        return HttpResponse(
            canonical.file_text(config),
            content_type="application/json",
            headers={"Content-Disposition": f'attachment; filename="{ids.encode(self.resource_id)}.json"'},
        )
