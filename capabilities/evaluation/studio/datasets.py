"""The pages about datasets: the list, the table, items, scorers and settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from secrets import token_hex
from typing import Any, Final
from urllib.parse import urlencode

from django import forms
from django.core.paginator import Page
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from editor_client.shared import canonical, tags
from pydantic.alias_generators import to_snake

from capabilities.evaluation.datasets.formats import MEMBERS
from capabilities.evaluation.datasets.models import MAX_NAME, DatasetVersion, Revision
from capabilities.evaluation.datasets.schemas import ItemUpdate
from capabilities.evaluation.datasets.verbs import (
    DatasetChanged,
    Datasets,
    ItemConflict,
    ItemTooLarge,
    item_ids_in,
    right_to_change,
)
from capabilities.evaluation.scoring.kind import SCORER
from capabilities.evaluation.studio.base import DatasetPage, json_object, next_step, offer, scorer_choices
from capabilities.evaluation.studio.files import TITLES
from studio.extensions import Action
from studio.kinds import KINDS_BY_SLUG
from studio.marks import as_text
from studio.pages import ActionPage, FormPage
from studio.translation import translate
from studio.workspaces.names import workspace_choices
from studio.workspaces.views import ListingPage, WorkspacePage, address
from versioning.domain import texts
from versioning.domain.access import Caller, Right
from versioning.domain.config import Config, raise_for_issues
from versioning.domain.errors import Conflict, IdTaken, Invalid, NotFound, VersioningError
from versioning.domain.texts import clip
from versioning.domain.uuids import is_key, parse_uuid
from versioning.editor.catalog import LongList
from versioning.models.search import MAX_LENGTH

PER_PAGE: Final = 50


class DatasetForm(forms.Form):
    """The name and the purpose of a dataset."""

    name = forms.CharField(label=gettext_lazy("Name"), max_length=MAX_NAME)
    description = forms.CharField(label=gettext_lazy("Purpose"), required=False)


class SettingsForm(DatasetForm):
    """All settings of a dataset."""

    scorers = forms.MultipleChoiceField(
        label=gettext_lazy("Scorers"),
        required=False,
        help_text=gettext_lazy("Used for the items unless an experiment selects others."),
    )
    input_schema = forms.CharField(
        label=gettext_lazy("JSON Schema of the inputs"), required=False, widget=forms.Textarea
    )
    ground_truth_schema = forms.CharField(
        label=gettext_lazy("JSON Schema of the references"), required=False, widget=forms.Textarea
    )

    def clean_input_schema(self) -> Any:
        """Return the schema; raises `ValidationError` unless it is JSON."""
        return json_object(self.cleaned_data["input_schema"])

    def clean_ground_truth_schema(self) -> Any:
        """Return the schema; raises `ValidationError` unless it is JSON."""
        return json_object(self.cleaned_data["ground_truth_schema"])


class NewDatasetPage(FormPage, WorkspacePage):
    """Creates an empty dataset."""

    tab = "datasets"
    right = Right.SAVE
    form_class = DatasetForm
    template = "evaluation/form.html"
    title = gettext_lazy("New dataset")

    def save(self, form: DatasetForm) -> HttpResponse:
        name, description = form.cleaned_data["name"], form.cleaned_data["description"] or None
        try:
            dataset = Datasets.current().create(
                {"description": description}, name=name, workspace=self.workspace.pk, by=self.caller
            )
        except Conflict as error:
            return self.refuse(form, error.message, field="name")
        return self.go(self.address("dataset", str(dataset.pk)))

    def context(self) -> dict[str, Any]:
        return {"button": _("Create dataset"), "back_address": self.address("datasets")}


class SettingsPage(FormPage, DatasetPage):
    """The settings of a dataset."""

    page_of_dataset = "dataset_settings"
    right = Right.SAVE
    form_class = SettingsForm
    template = "evaluation/form.html"
    error_fields = {"scorerIds": "scorers"}

    @property
    def title(self) -> str:
        return _("Settings of %(name)s") % {"name": self.dataset.name}

    def initial(self) -> dict[str, Any]:
        settings = self.dataset.settings
        schemas = {to_snake(name): settings.get(name) for name in ("inputSchema", "groundTruthSchema")}
        return {
            "name": self.dataset.name,
            "description": settings.get("description", ""),
            "scorers": self.dataset.scorer_ids,
            **{name: canonical.file_text(schema) if schema else "" for name, schema in schemas.items()},
        }

    def form(self, data: Any = None) -> SettingsForm:
        form: SettingsForm = super().form(data)
        offer(form, scorers=self.scorer_choices())
        return form

    def save(self, form: SettingsForm) -> HttpResponse:
        fields = form.cleaned_data
        changes = {
            "name": fields["name"],
            "description": fields["description"] or None,
            "scorerIds": fields["scorers"] or None,
            "inputSchema": fields["input_schema"],
            "groundTruthSchema": fields["ground_truth_schema"],
        }
        try:
            Datasets.current().change(self.dataset_id, changes, by=self.caller)
        except Conflict as error:
            return self.refuse(form, error.message, field="name")
        return self.go(self.own_address(), _("Settings saved."))

    def context(self) -> dict[str, Any]:
        return {"button": _("Save settings"), "back_address": self.own_address(), "offers_deletion": True}


class DeletePage(ActionPage, DatasetPage):
    """Asks for confirmation before a dataset is deleted."""

    page_of_dataset = "dataset_settings"
    done_page = "datasets"
    right = Right.SAVE
    template = "evaluation/ask.html"

    @property
    def title(self) -> str:
        return _("Delete %(name)s?") % {"name": self.dataset.name}

    @property
    def back_address(self) -> str:
        return self.own_address("dataset_settings")

    def context(self) -> dict[str, Any]:
        return {
            "sentence": _("All items in all versions are deleted, too. This cannot be undone."),
            "button": _("Delete dataset"),
        }

    def act(self) -> str:
        Datasets.delete(self.dataset_id, by=self.caller)
        return _("Dataset “%(name)s” deleted.") % {"name": self.dataset.name}


class VersionsPage(DatasetPage):
    """The versions of a dataset, newest first."""

    page_of_dataset = "dataset_versions"

    def get(self, request: HttpRequest, workspace: str, dataset: str) -> HttpResponse:
        """Show a page of them."""
        versions = DatasetVersion.objects.filter(dataset=self.dataset)
        page = self.paginate(versions, PER_PAGE)
        return self.page(
            "evaluation/versions.html",
            title=_("Versions of %(name)s") % {"name": self.dataset.name},
            page=page,
        )


class DatasetsPage(ListingPage):
    """The datasets, newest first; the page updates itself."""

    tab = "datasets"

    def get(self, request: HttpRequest, **_address: str) -> HttpResponse:
        """Show a page of the datasets."""
        workspace_id = self.listed_id
        self.listen(self.scope)
        datasets = Datasets.list(workspace=workspace_id, by=self.caller)
        page = self.paginate(datasets, PER_PAGE)
        lines = [
            {
                "dataset": dataset,
                "address": address("dataset", dataset.workspace_id, str(dataset.pk)),
                "workspace_name": self.shown_names.get(dataset.workspace_id, ""),  # in a list of several
            }
            for dataset in page.object_list
        ]
        workspaces = workspace_choices(Right.SAVE, self.caller)
        if workspace_id is not None:
            workspaces = [choice for choice in workspaces if choice[0] == workspace_id]
        return self.page(
            "evaluation/datasets.html",
            title=_("Datasets"),
            page=page,
            query=self.query(),
            lines=lines,
            add_addresses=[(address("new_dataset", pk), name) for pk, name in workspaces],
        )


class OneItemPage(DatasetPage):
    """A page about the item in the address."""

    @property
    def revisions(self) -> QuerySet[Revision]:
        """Its revisions, newest first."""
        item_id = parse_uuid(self.kwargs["item"])
        return Revision.objects.filter(dataset=self.dataset, item=item_id).select_related("item")

    @cached_property
    def newest(self) -> Revision:
        """Its newest revision; raises `NotFound`."""
        revision = self.revisions.first()
        if revision is None:
            raise NotFound
        return revision

    @property
    def item_id(self) -> str:
        """Its id; raises `NotFound` if it has no revision."""
        return str(self.newest.item_id)


class ItemPage(OneItemPage):
    """An item with its history."""

    def get(self, request: HttpRequest, workspace: str, dataset: str, item: str) -> HttpResponse:
        """Show it."""
        return self.show(canonical.file_text(self.newest.payload))

    def post(self, request: HttpRequest, workspace: str, dataset: str, item: str) -> HttpResponse:
        """Save all members as one version; after an error, show the text again."""
        self.caller.require(Right.SAVE, self.dataset.workspace_id)
        text = request.POST.get("payload", "")
        try:
            members = canonical.parse(text, field="JSON")
            if not isinstance(members, dict):
                raise Invalid.field("JSON", _("must be a JSON object"))
            raise_for_issues(ItemUpdate, members)
            changes: dict[str, Any] = {**dict.fromkeys(MEMBERS), **members}
            Datasets.change_item(self.dataset_id, self.item_id, changes, by=self.caller)
        except Invalid as error:
            sentences = [f"{issue.field}: {translate(issue.message)}" for issue in error.issues]
            return self.show(text, status=400, errors=sentences)
        except ItemTooLarge as error:
            return self.show(text, status=400, errors=[as_text(error.message, request)])
        return self.go(request.get_full_path(), _("Item saved."))

    def show(self, text: str, *, status: int = 200, errors: list[str] | None = None) -> HttpResponse:
        """Return the page."""
        newest = self.newest
        page = self.paginate(self.revisions, PER_PAGE)
        return self.page(
            "evaluation/item.html",
            title=_("An item of %(name)s") % {"name": self.dataset.name},
            status=status,
            item=newest.item,
            text=text,
            errors=errors or [],
            is_deleted=newest.is_deleted,
            is_purged=newest.is_purged,
            page=page,
            past=[(revision, canonical.file_text(revision.payload)) for revision in page.object_list],
            purge_address=self.own_address("dataset_item_purge", self.kwargs["item"]),
        )


class PurgePage(ActionPage, OneItemPage):
    """Asks for confirmation before the content of an item is removed."""

    right = Right.SAVE
    template = "evaluation/ask.html"
    title = gettext_lazy("Remove the content of this item permanently?")

    @property
    def back_address(self) -> str:
        return self.own_address("dataset_item", self.item_id)

    def context(self) -> dict[str, Any]:
        return {
            "sentence": _(
                "The content is removed from every version of the dataset, for example because a person in "
                "it asks for that. The item stays, empty. This cannot be undone."
            ),
            "item": self.newest.item,
            "button": _("Remove content permanently"),
        }

    def act(self) -> str:
        Datasets.purge(self.dataset_id, self.item_id, by=self.caller)
        return _("Content removed.")


NEW_ROWS: Final = 3
CELLS: Final = ("input", "groundTruth", "tags", "externalId")
_SHOWN: Final = frozenset({"input", "groundTruth"})


@dataclass
class TableRow:
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


def cell_texts(revision: Revision) -> dict[str, str]:
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
        rows = [self._row(revision) for revision in self._page.object_list]
        if version is None and self.may(right_to_change(self.dataset)):
            rows += [TableRow(key=f"new-{number}", cells={}) for number in range(NEW_ROWS)]
        return self.show(rows, version=version)

    def post(self, request: HttpRequest, workspace: str, dataset: str) -> HttpResponse:
        """Save the changed rows as one version; after an error, show them as typed."""
        self.caller.require(Right.SAVE, self.dataset.workspace_id)
        ids = list(item_ids_in(request.POST.getlist("item")))
        revisions = Revision.objects.of_version(self.dataset).filter(item__in=ids)
        typed_rows = _TypedRows(request.POST, {str(revision.item_id): revision for revision in revisions})
        try:
            saved = Datasets.save_items(
                self.dataset_id,
                base=typed_rows.base,
                changed=typed_rows.changed,
                removed=typed_rows.removed,
                added=typed_rows.added,
                by=self.caller,
            )
        except DatasetChanged:
            del self.dataset
            message = _(
                "Someone has changed this dataset in the meantime. What you typed is still here, and not "
                "saved: save again if it is still right."
            )
            return self.show(typed_rows.rows(self._row), status=409, errors=[message])
        except Invalid as error:
            rows = typed_rows.rows(self._row, error)
            return self.show(
                rows, status=400, errors=[] if any(row.errors for row in rows) else [error.message]
            )
        except (ItemConflict, ItemTooLarge) as error:
            return self.show(typed_rows.rows(self._row), status=400, errors=[as_text(error.message, request)])
        if saved.version == typed_rows.base:
            return self.go(request.get_full_path(), _("Nothing has changed."))
        number = {"number": saved.version}
        if not typed_rows.removed:
            return self.go(request.get_full_path(), _("Saved as version %(number)s.") % number)
        sentence = ngettext(
            "%(count)d item deleted; saved as version %(number)s.",
            "%(count)d items deleted; saved as version %(number)s.",
            len(typed_rows.removed),
        )
        return self.go(request.get_full_path(), sentence % {**number, "count": len(typed_rows.removed)})

    def show(
        self,
        rows: Sequence[TableRow],
        *,
        version: int | None = None,
        status: int = 200,
        errors: Sequence[str] = (),
    ) -> HttpResponse:
        """Return the table."""
        get = self.request.GET
        return self.page(
            "evaluation/dataset.html",
            title=self.dataset.name,
            status=status,
            rows=rows,
            page=self._page,
            query=urlencode({name: get[name] for name in ("q", "version") if get.get(name)}),
            search=get.get("q", ""),
            as_of=version,
            formats=list(TITLES.items()),
            errors=errors,
            step=next_step(self) if version is None and not errors else None,
        )

    @cached_property
    def _page(self) -> Page[Any]:
        """The page of items, in the order in which they were added."""
        version = self._version()
        revisions = Revision.objects.of_version(self.dataset, version).order_by("item__created_at", "item")
        text = clip(self.request.GET.get("q", "").replace("\x00", ""), MAX_LENGTH)
        if text:
            revisions = revisions.with_text(text)
        count = self.dataset.items_count if not text and version is None else None
        return self.paginate(LongList(revisions, count), PER_PAGE)

    def _version(self) -> int | None:
        text = self.request.GET.get("version", "")
        return int(text) if is_key(text) and int(text) < self.dataset.version else None

    def _row(self, revision: Revision) -> TableRow:
        key = str(revision.item_id)
        return TableRow(
            key=key,
            cells=cell_texts(revision),
            revision=revision,
            address=self.own_address("dataset_item", key),
        )


class _TypedRows:
    """The rows that a person has typed into the table."""

    def __init__(self, form: QueryDict, revisions: Mapping[str, Revision]) -> None:
        self._form = form
        self._revisions = revisions
        base = form.get("base", "")
        self.base = int(base) if is_key(base) else -1
        self.removed = [key for key in form.getlist("item") if f"remove-{key}" in form]
        self.changed = {
            key: changes
            for key, revision in revisions.items()
            if key not in self.removed and (changes := self._changes(key, revision))
        }
        self.added: dict[str, Mapping[str, Any]] = {}
        for key in form.getlist("new"):
            cells = self._cells(key)
            if not any(cells.values()):
                continue
            item: dict[str, Any] = {"input": texts.typed_cell(cells["input"]) if cells["input"] else None}
            if cells["groundTruth"]:
                item["groundTruth"] = texts.typed_cell(cells["groundTruth"])
            if cells["tags"]:
                item["metadata"] = {tags.MEMBER: tags.listed_in(cells["tags"])}
            if cells["externalId"]:
                item["externalId"] = cells["externalId"]
            self.added[key] = item

    def _cells(self, key: str) -> dict[str, str]:
        return {name: self._form.get(f"{name}-{key}", "").replace("\r\n", "\n") for name in CELLS}

    def _changes(self, key: str, revision: Revision) -> dict[str, Any]:
        """Return the members whose cells differ from the shown ones."""
        cells, before = self._cells(key), cell_texts(revision)
        changes: dict[str, Any] = {}
        for name in ("input", "groundTruth"):
            # A browser sends every line ending in the same form.
            if cells[name] != before[name].replace("\r\n", "\n").replace("\r", "\n"):
                changes[name] = texts.typed_cell(cells[name]) if cells[name] else None
        if cells["tags"] != before["tags"]:
            metadata = {**revision.payload.get("metadata", {}), tags.MEMBER: tags.listed_in(cells["tags"])}
            changes["metadata"] = {name: other for name, other in metadata.items() if other != []} or None
        return changes

    def rows(self, row_of: Callable[[Revision], TableRow], error: Invalid | None = None) -> list[TableRow]:
        """Return the rows as typed, with their errors."""
        rows = []
        for key in (*self._form.getlist("item"), *self._form.getlist("new")):
            row = row_of(self._revisions[key]) if key in self._revisions else TableRow(key=key, cells={})
            row.cells = self._cells(key)
            row.is_removed = key in self.removed
            row.errors = [
                f"{issue.field.removeprefix(f'{key}.')}: {translate(issue.message)}"
                for issue in (error.issues if error is not None else ())
                if issue.field.startswith(f"{key}.")
            ]
            rows.append(row)
        return rows


@dataclass(frozen=True, kw_only=True)
class Simple:
    """A scorer that needs only reference answers."""

    id: str
    name: Promise
    says: Promise
    config: Config


_TRUTH: Final = "{{groundTruth}}"
SIMPLE: Final = {
    simple.id: simple
    for simple in (
        Simple(
            id="contains-good-answer",
            name=gettext_lazy("Contains the good answer"),
            says=gettext_lazy("An answer passes if it contains the good answer."),
            config={"type": "contains", "config": {"values": [_TRUTH], "ignoreCase": True}},
        ),
        Simple(
            id="equals-good-answer",
            name=gettext_lazy("Equals the good answer"),
            says=gettext_lazy("An answer passes if it is the good answer, in upper or lower case."),
            config={"type": "equals", "config": {"value": _TRUTH, "ignoreCase": True}},
        ),
        Simple(
            id="words-of-good-answer",
            name=gettext_lazy("Has the words of the good answer"),
            says=gettext_lazy("An answer passes if it shares most of its words with the good answer."),
            config={"type": "similarity", "config": {"value": _TRUTH, "algorithm": "tokens"}},
        ),
    )
}


class ScorersForm(forms.Form):
    """The scorers of a dataset."""

    scorers = forms.MultipleChoiceField(label=gettext_lazy("Scorers"), required=False)


class ScorersPage(FormPage, DatasetPage):
    """Chooses the scorers of a dataset, or creates a simple one."""

    page_of_dataset = "dataset_scorers"
    right = Right.SAVE
    form_class = ScorersForm
    template = "evaluation/scorers.html"
    title = gettext_lazy("Choose a scorer")

    def post(self, request: HttpRequest, **ids: str) -> HttpResponse:
        if "make" not in request.POST:
            return super().post(request, **ids)
        simple = SIMPLE.get(request.POST["make"])
        if simple is None:
            raise NotFound
        return self.create_scorer(simple)

    def create_scorer(self, simple: Simple) -> HttpResponse:
        """Create a scorer, publish it if possible, and let it score the items."""
        name = str(simple.name)
        message = _("“%(name)s” scores the items now.")
        if simple.id in dict(scorer_choices(self.workspace.pk, self.caller)):
            scorer_id = simple.id
        else:
            scorers: Any = self.editor.collection(SCORER)
            config = {**simple.config, "name": name}
            more = {"workspace": self.workspace.pk, "publish": False, "by": self.caller}
            try:
                result = scorers.create(config, id=simple.id, **more)
            except IdTaken:  # in another workspace
                result = scorers.create(config, id=f"{simple.id}-{token_hex(3)}", **more)
            scorer_id = result.resource.pk
            if self.may(Right.PUBLISH):
                try:
                    scorers.publish(scorer_id, result.version.version_id, by=self.caller)
                except VersioningError:  # such as by a review policy: then it stays a draft
                    message = _("“%(name)s” scores the items now. A gate counts it once it is published.")
        self._change_scorers(list(dict.fromkeys([*self.dataset.scorer_ids, scorer_id])))
        return self.go(self.own_address(), message % {"name": name})

    def initial(self) -> dict[str, Any]:
        return {"scorers": self.dataset.scorer_ids}

    def form(self, data: Any = None) -> ScorersForm:
        form: ScorersForm = super().form(data)
        offer(form, scorers=self.scorer_choices())
        return form

    def save(self, form: ScorersForm) -> HttpResponse:
        self._change_scorers(form.cleaned_data["scorers"])
        return self.go(self.own_address(), _("Scorers saved."))

    def _change_scorers(self, ids: list[str]) -> None:
        Datasets.current().change(self.dataset_id, {"scorerIds": ids or None}, by=self.caller)

    def context(self) -> dict[str, Any]:
        add_address = f"{KINDS_BY_SLUG[SCORER.slug].address('add')}?workspace={self.workspace.pk}"
        return {"simple": SIMPLE.values(), "add_address": add_address}


class AddForm(forms.Form):
    """An item, and the dataset to which it is added."""

    dataset = forms.ChoiceField(label=gettext_lazy("Dataset"))
    input = forms.CharField(label=gettext_lazy("Input"), strip=False, widget=forms.Textarea)
    ground_truth = forms.CharField(
        label=gettext_lazy("A good answer"),
        required=False,
        strip=False,
        widget=forms.Textarea,
        help_text=gettext_lazy("Starts with the actual answer. Change it to a good one."),
    )
    tags = forms.CharField(label=gettext_lazy("Tags, separated by commas"), required=False)
    about = forms.CharField(required=False, widget=forms.HiddenInput)
    """The feedback from which the item is made, as JSON; it is stored in its metadata."""

    @property
    def item(self) -> dict[str, Any]:
        """The item, by the names of the API."""
        fields = self.cleaned_data
        item = {"input": texts.typed_cell(fields["input"].replace("\r\n", "\n"))}
        truth = fields["ground_truth"].replace("\r\n", "\n")
        if truth:
            item["groundTruth"] = texts.typed_cell(truth)
        metadata = {tags.MEMBER: tags.listed_in(fields["tags"]), "feedback": feedback_in(fields["about"])}
        metadata = {name: value for name, value in metadata.items() if value}
        return {**item, "metadata": metadata} if metadata else item


def feedback_in(text: str) -> dict[str, Any]:
    """Return the feedback in a form's JSON; nothing if that is not a JSON object."""
    try:
        value = canonical.parse(text) if text else None
    except Invalid:
        return {}
    return value if isinstance(value, dict) else {}


class AddItemPage(FormPage):
    """Receives an input with its answer, shows them in a form, and adds the item."""

    form_class = AddForm
    template = "evaluation/add_item.html"
    title = gettext_lazy("Save as dataset item")

    def post(self, request: HttpRequest, **ids: str) -> HttpResponse:
        """Add the item; without the button of the form, show the tried input."""
        return super().post(request, **ids) if request.POST.get("do") == "add" else self.get(request)

    def initial(self) -> dict[str, Any]:
        """Return the tried input that was sent here, if any."""
        if self.request.method != "POST":
            return {}
        tried, output, about = (self.request.POST.get(name, "") for name in ("tried", "output", "about"))
        return {
            "input": texts.format_value(texts.typed_cell(tried)) if tried else "",
            "ground_truth": texts.format_value(output),
            "about": about,
        }

    def form(self, data: Any = None) -> AddForm:
        form: AddForm = super().form(data)
        workspaces = dict(workspace_choices(Right.SAVE, self.caller))
        datasets = Datasets.list(by=self.caller).filter(workspace__in=workspaces)
        names = {
            dataset.pk: f"{dataset.name} ({workspaces[dataset.workspace_id]})"
            if len(workspaces) > 1
            else dataset.name
            for dataset in datasets
        }
        offer(form, dataset=[(str(pk), name) for pk, name in names.items()])
        # A person who saves several answers saves them to one dataset.
        form.initial["dataset"] = datasets.order_by("-updated_at").values_list("pk", flat=True).first()
        return form

    def save(self, form: AddForm) -> HttpResponse:
        dataset = Datasets.find(form.cleaned_data["dataset"], right=Right.SAVE, by=self.caller)
        try:
            Datasets.add(str(dataset.pk), [form.item], places=[""], by=self.caller)
        except Invalid as error:
            for issue in error.issues:
                form.add_error(None, f"{issue.field}: {translate(issue.message)}")
            return self.show(form, status=400)
        except (Conflict, ItemTooLarge) as error:
            return self.refuse(form, error.message)
        return self.go(address("dataset", dataset.workspace_id, str(dataset.pk)), _("Item added."))

    def show(self, form: AddForm, *, status: int = 200, **context: Any) -> HttpResponse:
        feedback = feedback_in(form["about"].value() or "")
        datasets_address = reverse("studio:datasets")
        return super().show(form, status=status, said=feedback, datasets_address=datasets_address, **context)


def answer_actions(caller: Caller) -> Iterator[Action]:
    """Yield the actions for a tried answer."""
    if caller.scope(Right.SAVE) != frozenset():
        yield Action(title=_("Save as dataset item"), address=reverse("studio:add_item"))
