"""Pages that ask for confirmation before an action that affects others, and show the effects."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from studio import additions
from studio.pages import ActionPage
from studio.publishing.views import MAX_SHOWN, DependentsPage, Obstacle
from studio.translation import title_of, translate
from versioning.domain.access import Right
from versioning.domain.errors import Conflict, EditConflict, Forbidden, Invalid, NotFound, VersioningError
from versioning.domain.selectors import Status
from versioning.domain.snapshots import Snapshot
from versioning.editor import gate
from versioning.editor.deleting import discardable, other_dependents
from versioning.editor.gate import TakeDownRequest
from versioning.models import VersionedResource, Visibility

MAX_NAMED_DRAFTS: Final = 50


class ConfirmPage(ActionPage, DependentsPage):
    """Shows the effects of an action, and performs it once confirmed.

    If the resource was changed since the page was opened, nothing is done and the page shows a message.
    """

    template = "studio/publishing/confirm.html"
    back_page = "change"
    right = Right.PUBLISH
    takes_down = False
    """Whether no version of the resource is served afterwards, so that the gate checks it."""

    @property
    def shows_dependents(self) -> bool:
        return True

    def post(self, request: HttpRequest, **ids: str) -> HttpResponse:
        """Perform the action, unless the resource was changed."""
        try:
            return super().post(request, **ids)
        except EditConflict as conflict:
            self.forget("record", "drafts")
            return self.ask(status=409, conflict=conflict.current)
        except Conflict:
            if self.refusal is None:
                raise
            return self.ask(status=409)
        except Invalid as error:
            return self.ask(status=400, errors=[translate(issue.message) for issue in error.issues])

    def is_allowed(self) -> bool:
        return self.may(self.right)

    @abstractmethod
    def sentences(self) -> list[str]:
        """Return the consequences, a sentence each."""

    @cached_property
    def record(self) -> VersionedResource:
        """The stored resource; raises `NotFound` for an agent that only code defines."""
        if self.resource is None:
            raise NotFound("This agent is exactly as its code defines it: nothing of it is stored here.")
        return self.resource

    @cached_property
    def refusal(self) -> VersioningError | None:
        """Why the gate refuses to take the resource down, for example because a rollout is running."""
        if not self.takes_down:
            return None
        return gate.refusal(TakeDownRequest(resource=self.record, caller=self.caller), self.editor.code)

    def ask(self, *, status: int = 200, **context: Any) -> HttpResponse:
        if not self.is_allowed():
            raise Forbidden(self.right.describe_refusal(self.workspace_id))
        return super().ask(status=status, **context)

    def context(self) -> dict[str, Any]:
        refusal = self.refusal
        return {
            "tag": self.record.etag,
            "sentences": self.sentences(),
            "obstacle": None if refusal is None else Obstacle.of(refusal),
            "way_out": refusal and additions.find_way_out(self.kind, self.resource_id, refusal),
            "dependents": self.shown_dependents(Status.PUBLISHED) if self.shows_dependents else None,
            "other_dependents": self._other_dependents() if self.shows_dependents else "",
        }

    def _other_dependents(self) -> str:
        names = [name for _id, name, _kind in other_dependents(self.record, self.caller)]
        return ", ".join(names[:MAX_SHOWN] + ["…"] * (len(names) > MAX_SHOWN))


class UnpublishPage(ConfirmPage):
    """Stops serving the published version; no version is deleted."""

    takes_down = True

    title = gettext_lazy("Unpublish")

    def sentences(self) -> list[str]:
        if self.record.active is None:
            raise NotFound("Nothing is published.")
        if self.code_agent is not None:
            return [
                _("The agent is served as its code defines it again. Every version stays in the history."),
                _("Applications that hold a lock keep running it. Deleting the override ends that."),
            ]
        return [
            _("%(version)s is no longer served.") % {"version": title_of(self.record.active)},
            _("Applications that ask for what is published find nothing."),
            _("Every version stays in the history and can be published again."),
            *([_("Agents that refer to it are served without it.")] if self.kind.is_shown else []),
            *self._label_sentences,
            self._lock_sentence,
        ]

    @property
    def _label_sentences(self) -> list[str]:
        """Return a sentence about the labels through which applications still get a version, if any."""
        released = self.record.labels.filter(released=True).order_by("name").values_list("name", flat=True)
        if not released:
            return []
        sentence = ngettext(
            "Applications that ask for the label %(labels)s still get its version. "
            "Removing the label ends that.",
            "Applications that ask for the labels %(labels)s still get their versions. "
            "Removing the labels ends that.",
            len(released),
        )
        return [sentence % {"labels": ", ".join(released)}]

    @property
    def _lock_sentence(self) -> str:
        if self.kind.has_visibility:
            return _(
                "Applications that hold a lock keep running it. Deleting it, or the versions that the "
                "lock names, "
                "ends that; making it private ends it for everyone outside its workspace."
            )
        return _(
            "Applications that hold a lock keep using it. Deleting it, or the versions that the lock names, "
            "ends that."
        )

    def act(self) -> str:
        self.collection.unpublish(self.resource_id, by=self.caller, expect=self.etags)
        return _("Unpublished. Nothing was deleted.")


class DeletePage(ConfirmPage):
    """Deletes a resource with everything that belongs to it; the id is typed first if it is live."""

    takes_down = True

    @property
    def title(self) -> str:
        if self.code_agent is not None:
            return _("Delete the override")
        return str(self.kind.words.delete)

    def is_allowed(self) -> bool:
        return self.kind.admin.has_delete_permission(self.request, self.record)

    def sentences(self) -> list[str]:
        count = self.record.versions.count()
        lost = ngettext(
            "%(count)s version and all labels are deleted with it. This cannot be undone.",
            "%(count)s versions and all labels are deleted with it. This cannot be undone.",
            count,
        )
        sentences = [lost % {"count": count}]
        if self.code_agent is not None:
            sentences.append(_("The agent itself stays, as its code defines it."))
        elif self.record.active is not None:
            live = _("%(version)s is live at the moment.")
            sentences.append(live % {"version": title_of(self.record.active)})
        return sentences

    @property
    def is_live(self) -> bool:
        """Whether a version is live, so that applications notice that it is deleted."""
        return self.record.active is not None

    def context(self) -> dict[str, Any]:
        return {**super().context(), "id_to_type": self.resource_id if self.is_live else ""}

    def post(self, request: HttpRequest, **ids: str) -> HttpResponse:
        """Delete it, unless its id has to be typed and is not."""
        is_unchanged = not self.etags.isdisjoint({self.record.etag, "*"})
        typed_id = request.POST.get("typed_id", "").strip()
        if self.is_live and is_unchanged and typed_id != self.resource_id:
            return self.ask(status=400, has_other_id=True)
        return super().post(request, **ids)

    @property
    def done_address(self) -> str:
        return self.kind.address("changelist")

    def act(self) -> str:
        name = self.summary.name
        self.collection.delete(self.resource_id, by=self.caller, expect=self.etags)
        return _("“%(name)s” is deleted.") % {"name": name}


class VisibilityPage(ConfirmPage):
    @property
    def other(self) -> Visibility:
        """The visibility to change to; raises `NotFound` for resources without their own visibility."""
        if not self.kind.has_visibility or self.code_agent is not None:
            raise NotFound("The visibility of this cannot be changed here.")
        is_public = self.summary.entry.visibility == Visibility.PUBLIC
        return Visibility.PRIVATE if is_public else Visibility.PUBLIC

    @property
    def title(self) -> str:
        return _("Make public") if self.other is Visibility.PUBLIC else _("Make private")

    @property
    def shows_dependents(self) -> bool:
        """Return False for public: making an agent public does not affect dependents."""
        return self.other is Visibility.PRIVATE

    def sentences(self) -> list[str]:
        if self.other is Visibility.PUBLIC:
            return [
                _("Everyone who is signed in, in any workspace, may read and run the published version."),
                _("Drafts and history stay with the workspace."),
            ]
        return [
            _("Only members of its workspace may read and run it then, by a lock, too."),
            _(
                "Agents of other workspaces that have it as a sub-agent run it no longer, unless a member of "
                "its workspace published them."
            ),
        ]

    def act(self) -> str:
        other = self.other
        self.collection.edit(self.resource_id, visibility=other.value, by=self.caller, expect=self.etags)
        return _("It is now public.") if other is Visibility.PUBLIC else _("It is now private.")


class DiscardPage(ConfirmPage):
    """Deletes the versions saved since the live one was published, or the latest if none is live."""

    right = Right.SAVE
    shows_dependents = False

    title = gettext_lazy("Discard the draft")

    @cached_property
    def drafts(self) -> list[Snapshot]:
        """The versions to delete, newest first; raises `NotFound` if there are none."""
        return discardable(self.record)

    def sentences(self) -> list[str]:
        """Return the number of deleted versions; the page names them below."""
        count = len(self.drafts)
        lost = ngettext(
            "%(count)s version is deleted. This cannot be undone.",
            "%(count)s versions are deleted. This cannot be undone.",
            count,
        )
        return [lost % {"count": count}]

    def context(self) -> dict[str, Any]:
        return {
            **super().context(),
            "discarded": self.drafts[:MAX_NAMED_DRAFTS],
            "more_discarded": len(self.drafts[MAX_NAMED_DRAFTS:]),
            "history_address": self.address("history"),
        }

    def act(self) -> str:
        self.collection.discard_draft(self.resource_id, self.drafts, by=self.caller, expect=self.etags)
        return _("The draft is discarded.")
