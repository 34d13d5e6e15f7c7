"""One item of a dataset: all of it, its history, and removing its content for good."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from editor_client.shared import canonical

from capabilities.evaluation.datasets.formats.rows import MEMBERS
from capabilities.evaluation.datasets.items import ItemTooLarge
from capabilities.evaluation.datasets.models import Revision
from capabilities.evaluation.datasets.schemas import ItemUpdate
from capabilities.evaluation.datasets.verbs import Datasets
from capabilities.evaluation.studio.base import DatasetPage
from studio.marks import as_text
from studio.translation import translated
from versioning.domain.access import Right
from versioning.domain.config import raise_for_issues
from versioning.domain.errors import Invalid, NotFound
from versioning.domain.uuids import parse_uuid

PER_PAGE: Final = 50


@dataclass(frozen=True)
class Past:
    """A revision of the item, as the page shows it."""

    revision: Revision

    @property
    def text(self) -> str:
        """Its members as JSON."""
        return canonical.file_text(self.revision.payload)


class ItemPage(DatasetPage):
    """An item with its history."""

    @property
    def revisions(self) -> QuerySet[Revision]:
        """Its revisions, newest first."""
        item_id = parse_uuid(self.kwargs["item"])
        return Revision.objects.filter(dataset=self.dataset, item=item_id).select_related("item")

    @cached_property
    def newest(self) -> Revision:
        """Its newest revision; raises `NotFound`."""
        found = self.revisions.first()
        if found is None:
            raise NotFound
        return found

    @property
    def is_purged(self) -> bool:
        """Whether its content was removed."""
        return self.newest.is_purged

    def get(self, request: HttpRequest, workspace: str, dataset: str, item: str) -> HttpResponse:
        """Show it."""
        return self.show(canonical.file_text(self.newest.payload))

    def post(self, request: HttpRequest, workspace: str, dataset: str, item: str) -> HttpResponse:
        """Save all members as one version; after an error, show the text again."""
        self.caller.require(Right.SAVE, self.dataset.workspace_id)
        text = request.POST.get("payload", "")
        try:
            given = canonical.parse(text, field="JSON")
            if not isinstance(given, dict):
                raise Invalid.field("JSON", _("must be a JSON object"))
            raise_for_issues(ItemUpdate, given)
            changes: dict[str, Any] = {**dict.fromkeys(MEMBERS), **given}
            Datasets.change_item(self.dataset_id, self.item_id, changes, by=self.caller)
        except Invalid as error:
            sentences = [f"{issue.field}: {translated(issue.message)}" for issue in error.issues]
            return self.show(text, status=400, errors=sentences)
        except ItemTooLarge as error:
            return self.show(text, status=400, errors=[as_text(error.message, request)])
        return self.go(request.get_full_path(), _("Item saved."))

    @property
    def item_id(self) -> str:
        """Its id, once it is found."""
        return str(self.newest.item_id)

    def show(self, text: str, *, status: int = 200, errors: list[str] | None = None) -> HttpResponse:
        """Return the page."""
        newest = self.newest
        page = Paginator(self.revisions, PER_PAGE).get_page(self.request.GET.get("page"))
        return self.page(
            "evaluation/item.html",
            title=_("An item of %(name)s") % {"name": self.dataset.name},
            status=status,
            item=newest.item,
            text=text,
            errors=errors or [],
            is_deleted=newest.is_deleted,
            is_purged=self.is_purged,
            page=page,
            past=[Past(one) for one in page.object_list],
            purge_address=self.own_address("dataset_item_purge", self.kwargs["item"]),
        )


class PurgePage(ItemPage):
    """Asks for confirmation before the content of an item is removed."""

    right = Right.SAVE

    def get(self, request: HttpRequest, workspace: str, dataset: str, item: str) -> HttpResponse:
        """Ask."""
        return self.page(
            "evaluation/ask.html",
            title=_("Remove the content of this item permanently?"),
            sentence=_(
                "The content is removed from every version of the dataset, for example because a person in "
                "it asks for that. The item stays, empty. This cannot be undone."
            ),
            item=self.newest.item,
            button=_("Remove content permanently"),
            back_address=self.own_address("dataset_item", self.kwargs["item"]),
        )

    def post(self, request: HttpRequest, workspace: str, dataset: str, item: str) -> HttpResponse:
        """Remove it, and show the item."""
        Datasets.purge(self.dataset_id, self.item_id, by=self.caller)
        return self.go(self.own_address("dataset_item", self.item_id), _("Content removed."))
