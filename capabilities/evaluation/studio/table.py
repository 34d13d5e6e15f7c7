"""The items of a dataset as a table, which is edited in place: one save is one version."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from django.core.paginator import Page, Paginator
from django.http import HttpRequest, HttpResponse, QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from editor_client.shared import tags

from capabilities.evaluation.datasets.changing_items import DatasetChanged, ItemConflict, uuids
from capabilities.evaluation.datasets.editing import right_to_change
from capabilities.evaluation.datasets.items import ItemTooLarge
from capabilities.evaluation.datasets.models import Revision
from capabilities.evaluation.datasets.verbs import Datasets
from capabilities.evaluation.studio.base import DatasetPage
from capabilities.evaluation.studio.files import TITLES
from capabilities.evaluation.studio.steps import STEPS, next_step
from studio.marks import as_text
from studio.translation import translated
from versioning.domain import texts
from versioning.domain.access import Right
from versioning.domain.errors import Invalid
from versioning.domain.texts import clip
from versioning.editor.catalog import LongList
from versioning.models.search import MAX_LENGTH

PER_PAGE: Final = 50
NEW_ROWS: Final = 3
CELLS: Final = ("input", "groundTruth", "tags", "externalId")
_SHOWN: Final = frozenset({"input", "groundTruth"})


@dataclass
class Row:
    """A row of the table: an item, or a place for a new one."""

    key: str
    """The id of the item, or the name of the place."""
    cells: dict[str, str]
    revision: Revision | None = None
    address: str = ""
    is_removed: bool = False
    errors: list[str] = field(default_factory=list)

    @property
    def is_purged(self) -> bool:
        """Whether its content was removed."""
        return self.revision is not None and self.revision.is_purged

    @property
    def has_more(self) -> bool:
        """Whether the item has members that the table does not show."""
        payload = self.revision.payload if self.revision else {}
        metadata = payload.get("metadata", {})
        return bool(payload.keys() - _SHOWN - {"metadata"} or metadata.keys() - {tags.MEMBER})


def cells_of(revision: Revision) -> dict[str, str]:
    """Return the texts of the cells of an item."""
    payload = revision.payload
    return {
        "input": texts.format_value(payload.get("input")),
        "groundTruth": texts.format_value(payload["groundTruth"]) if "groundTruth" in payload else "",
        "tags": ", ".join(payload.get("metadata", {}).get(tags.MEMBER, ())),
        "externalId": revision.item.external_id or "",
    }


class TablePage(DatasetPage):
    """A page of the items, now or as of a version."""

    def get(self, request: HttpRequest, workspace: str, dataset: str) -> HttpResponse:
        """Show the items."""
        version = self._version()
        rows = [self._row(one) for one in self._page.object_list]
        if version is None and self.may(right_to_change(self.dataset)):
            rows += [Row(key=f"new-{number}", cells={}) for number in range(NEW_ROWS)]
        return self.show(rows, version=version)

    def post(self, request: HttpRequest, workspace: str, dataset: str) -> HttpResponse:
        """Save the rows that were changed, as one version; after an error, show them as they were typed."""
        self.caller.require(Right.SAVE, self.dataset.workspace_id)
        given = _Given(request.POST, self._revisions(request.POST.getlist("item")))
        try:
            saved = Datasets.save_items(
                self.dataset_id,
                base=given.base,
                changed=given.changed,
                removed=given.removed,
                added=given.added,
                by=self.caller,
            )
        except DatasetChanged:
            del self.dataset
            message = _(
                "Someone has changed this dataset in the meantime. What you typed is still here, and not "
                "saved: save again if it is still right."
            )
            return self.show(given.rows(self._row), status=409, errors=[message])
        except Invalid as error:
            rows = given.rows(self._row, error)
            return self.show(
                rows, status=400, errors=[] if any(row.errors for row in rows) else [error.message]
            )
        except (ItemConflict, ItemTooLarge) as error:
            return self.show(given.rows(self._row), status=400, errors=[as_text(error.message, request)])
        if saved.version == given.base:
            return self.go(request.get_full_path(), _("Nothing has changed."))
        number = {"number": saved.version}
        if not given.removed:
            return self.go(request.get_full_path(), _("Saved as version %(number)s.") % number)
        said = ngettext(
            "%(count)d item deleted; saved as version %(number)s.",
            "%(count)d items deleted; saved as version %(number)s.",
            len(given.removed),
        )
        return self.go(request.get_full_path(), said % {**number, "count": len(given.removed)})

    def show(
        self,
        rows: Sequence[Row],
        *,
        version: int | None = None,
        status: int = 200,
        errors: Sequence[str] = (),
    ) -> HttpResponse:
        """Return the table."""
        return self.page(
            "evaluation/dataset.html",
            title=self.dataset.name,
            status=status,
            rows=rows,
            page=self._page,
            query=self._query(),
            search=self.request.GET.get("q", ""),
            as_of=version,
            formats=list(TITLES.items()),
            errors=errors,
            step=next_step(self) if version is None and not errors else None,
            steps=STEPS,
        )

    @cached_property
    def _page(self) -> Page[Any]:
        """The page of items, in the order in which they were added."""
        version = self._version()
        found = Revision.objects.of_version(self.dataset, version).order_by("item__created_at", "item")
        text = clip(self.request.GET.get("q", "").replace("\x00", ""), MAX_LENGTH)
        if text:
            found = found.with_text(text)
        known = self.dataset.items_count if not text and version is None else None
        return Paginator(LongList(found, known), PER_PAGE).get_page(self.request.GET.get("page"))

    def _version(self) -> int | None:
        text = self.request.GET.get("version", "")
        number = int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None
        return number if number is not None and number < self.dataset.version else None

    def _query(self) -> str:
        given = QueryDict(mutable=True)
        for name in ("q", "version"):
            if self.request.GET.get(name):
                given[name] = self.request.GET[name]
        return given.urlencode()

    def _revisions(self, ids: Sequence[str]) -> dict[str, Revision]:
        rows = Revision.objects.of_version(self.dataset).filter(item__in=list(uuids(ids)))
        return {str(row.item_id): row for row in rows}

    def _row(self, revision: Revision) -> Row:
        key = str(revision.item_id)
        return Row(
            key=key,
            cells=cells_of(revision),
            revision=revision,
            address=self.own_address("dataset_item", key),
        )


class _Given:
    """What a person has typed into the table."""

    def __init__(self, given: QueryDict, revisions: Mapping[str, Revision]) -> None:
        self._given = given
        self._revisions = revisions
        base = given.get("base", "")
        self.base = int(base) if base.isascii() and base.isdecimal() and len(base) < 10 else -1
        self.removed = [key for key in given.getlist("item") if f"remove-{key}" in given]
        self.changed = {
            key: changes
            for key, revision in revisions.items()
            if key not in self.removed and (changes := self._changes(key, revision))
        }
        self.added = {key: self._item(key) for key in given.getlist("new") if any(self._cells(key).values())}

    def _cells(self, key: str) -> dict[str, str]:
        return {name: self._given.get(f"{name}-{key}", "").replace("\r\n", "\n") for name in CELLS}

    def _changes(self, key: str, revision: Revision) -> dict[str, Any]:
        """Return the members whose cells differ from what was shown."""
        typed, before = self._cells(key), cells_of(revision)
        changes: dict[str, Any] = {}
        for name in ("input", "groundTruth"):
            # A browser sends each end of a line in the same way, however it was written.
            if typed[name] != before[name].replace("\r\n", "\n").replace("\r", "\n"):
                changes[name] = texts.typed_cell(typed[name]) if typed[name] else None
        if typed["tags"] != before["tags"]:
            others = {**revision.payload.get("metadata", {}), tags.MEMBER: tags.listed_in(typed["tags"])}
            changes["metadata"] = {name: other for name, other in others.items() if other != []} or None
        return changes

    def _item(self, key: str) -> dict[str, Any]:
        typed = self._cells(key)
        item: dict[str, Any] = {"input": texts.typed_cell(typed["input"]) if typed["input"] else None}
        if typed["groundTruth"]:
            item["groundTruth"] = texts.typed_cell(typed["groundTruth"])
        if typed["tags"]:
            item["metadata"] = {tags.MEMBER: tags.listed_in(typed["tags"])}
        if typed["externalId"]:
            item["externalId"] = typed["externalId"]
        return item

    def rows(self, row_of: Any, error: Invalid | None = None) -> list[Row]:
        """Return the rows as they were typed, with the errors about them."""
        return list(self._rows(row_of, error))

    def _rows(self, row_of: Any, error: Invalid | None) -> Iterator[Row]:
        issues = error.issues if error is not None else ()
        for key in (*self._given.getlist("item"), *self._given.getlist("new")):
            row = row_of(self._revisions[key]) if key in self._revisions else Row(key=key, cells={})
            row.cells = self._cells(key)
            row.is_removed = key in self.removed
            row.errors = [
                f"{issue.field.removeprefix(f'{key}.')}: {translated(issue.message)}"
                for issue in issues
                if issue.field.startswith(f"{key}.")
            ]
            yield row
