"""The filters of a list: the form with its choices, and the chips that filter with one click."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Final
from urllib.parse import urlencode

from django import forms
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse, QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from editor_client.shared.text_keys import caseless

from studio.kinds import AGENT, KINDS_BY_SLUG, StudioKind
from studio.models import MAX_FILTER_NAME, MAX_QUERY, SavedFilter
from studio.named import Place, person_name
from studio.resources.rows import STATES, VISIBILITIES, chosen_value
from studio.views import StudioPage
from studio.workspaces.names import workspace_choices
from versioning.domain.access import Caller, Right
from versioning.domain.errors import Invalid, NotFound
from versioning.editor.bulk import MAX_CHOSEN, ChosenVersion
from versioning.editor.catalog import Filter, ListFilter, Overview, ResourceState, list_filters
from versioning.editor.catalog.criteria import NOT_LIVE
from versioning.models.accounts import known_name
from versioning.models.search import MAX_LENGTH

MAX_TEXT: Final = MAX_LENGTH
MAX_OPTIONS: Final = 40
"""Up to this number, authors, labels or tags form a select list; with more, typed text is completed."""
OLD_STATES: Final = {
    "Published": ResourceState.PUBLISHED.value,
    "Changed": ResourceState.CHANGED.value,
    "Draft": NOT_LIVE,
}
"""The former words in the URLs of filtered lists, with their current ones."""
ORDERS: Final = {
    "changed": ("-seen_at", gettext_lazy("Changed last")),
    "oldest": ("seen_at", gettext_lazy("Least recently changed")),
    "name": ("name", gettext_lazy("By name")),
    "-name": ("-name", gettext_lazy("By name, Z to A")),
    "id": ("id", gettext_lazy("By id")),
    "newest": ("-created_at", gettext_lazy("Newest first")),
}
USUAL_ORDER: Final = "changed"
_ANY: Final = ("", gettext_lazy("Any"))


def _make_field(filter_: Filter) -> forms.Field:
    """Return the field of a filter without its own here; one without a label is only set by links."""
    more: dict[str, Any] = {"required": False, "label": filter_.label}
    if not filter_.label:
        more["widget"] = forms.HiddenInput
    if filter_.is_switch:
        return forms.BooleanField(**more)
    if filter_.choices is not None:
        return forms.ChoiceField(choices=[_ANY, *filter_.choices], **more)
    return forms.CharField(max_length=MAX_TEXT, **more)


class FilterForm(forms.Form):
    """The filters of a list. None is required, and unknown values are refused."""

    q = forms.CharField(label=gettext_lazy("Search"), required=False, max_length=MAX_TEXT)
    state = forms.ChoiceField(
        label=gettext_lazy("State"),
        required=False,
        choices=[
            _ANY,
            *((state.value, words.word) for state, words in STATES.items()),
            (NOT_LIVE, gettext_lazy("Not live: never published, or unpublished")),
        ],
    )
    author = forms.CharField(label=gettext_lazy("Last edit by"), required=False, max_length=MAX_TEXT)
    label = forms.CharField(label=gettext_lazy("Label"), required=False, max_length=MAX_TEXT)
    tag = forms.CharField(label=gettext_lazy("Tag"), required=False, max_length=MAX_TEXT)
    workspace = forms.ChoiceField(label=gettext_lazy("Workspace"), required=False)
    visibility = forms.ChoiceField(
        label=gettext_lazy("Visibility"), required=False, choices=[_ANY, *VISIBILITIES.items()]
    )
    order = forms.ChoiceField(
        label=gettext_lazy("Order"),
        required=False,
        choices=[(name, words) for name, (_column, words) in ORDERS.items()],
    )

    def __init__(
        self, data: Any, *, kind: StudioKind, caller: Caller, overview: Overview | None = None
    ) -> None:
        super().__init__(data, auto_id="filter-%s")
        self.caller = caller
        workspaces = [_ANY, *workspace_choices(Right.READ, caller)]
        self.fields["workspace"].choices = workspaces  # type: ignore[attr-defined]
        self.filters = {filter_.field: filter_ for filter_ in list_filters(kind) if filter_.field}
        for name in set(self.base_fields) - set(self.filters) - {"order"}:
            del self.fields[name]
        self.fields |= {
            name: _make_field(value) for name, value in self.filters.items() if name not in self.fields
        }
        self.suggested: dict[str, Iterable[str]] = {}
        if overview is not None:
            for name, names in (
                ("author", overview.authors),
                ("label", overview.labels),
                ("tag", overview.tags),
            ):
                self._offer(name, list(names))
        for form_field in self.fields.values():
            form_field.widget.attrs |= {"class": "input", "dir": "auto"}

    def _offer(self, name: str, names: list[str]) -> None:
        """Offer the choices: as a list while it is short, otherwise as suggestions while a person types."""
        value = str(self.data.get(name, ""))
        if len(names) > MAX_OPTIONS:
            self.suggested[name] = names
            self.fields[name].widget.attrs |= {"list": f"known-{name}", "autocomplete": "off"}
            return
        options = names if value in {"", *names} else [*names, value]
        words = partial(person_name, place=Place.NAMED) if name == "author" else str
        self.fields[name].widget = forms.Select(
            choices=[_ANY, *((option, words(option)) for option in options)]
        )

    def clean_author(self) -> str:
        author: str = self.cleaned_data["author"]
        return known_name(author) if author else ""

    def clean_label(self) -> str:
        """Return the name in the form of labels: in lower case."""
        return caseless(self.cleaned_data["label"])

    @cached_property
    def list_filter(self) -> ListFilter:
        """The filter, without invalid values."""
        self.is_valid()
        values = {name: self.cleaned_data.get(name) for name in self.filters}
        return ListFilter({name: self.filters[name].read(value) for name, value in values.items() if value})

    @property
    def order_name(self) -> str:
        return self.cleaned_data.get("order") or USUAL_ORDER

    @property
    def sorting(self) -> str:
        return ORDERS[self.order_name][0]

    @cached_property
    def parameters(self) -> dict[str, str]:
        """The valid values in the form of an address, without the page."""
        usual = ("order", USUAL_ORDER)
        valid = [(name, value) for name, value in self.cleaned_data.items() if value]
        return {name: "1" if value is True else value for name, value in valid if (name, value) != usual}

    def address(self, **changes: str) -> str:
        """Return the address of the list with other values; an empty value removes one."""
        values = self.parameters | changes
        return f"?{urlencode({name: values[name] for name in self.fields if values.get(name)})}"

    @property
    def shown_fields(self) -> Iterator[Any]:
        """The fields behind *Filters*: all visible ones except the search."""
        return (field for field in self if not field.is_hidden and field.name != "q")

    @property
    def is_filtered(self) -> bool:
        """Whether a field behind *Filters* has a value that no chip and no column head shows."""
        visible = {("author", self.caller.username), ("state", ResourceState.NEVER_PUBLISHED.value)}
        visible |= {(name, self.parameters.get(name)) for name in ("tag", "order")}
        return bool(self.errors.keys() - {"q"}) or any(
            value and (name, value) not in visible
            for name, value in ((field.name, self.parameters.get(field.name)) for field in self.shown_fields)
        )

    @property
    def is_narrowed(self) -> bool:
        return bool(self.parameters.keys() - {"order"})


def heads(form: FilterForm) -> dict[str, dict[str, str]]:
    """Return the heads of the sortable columns; a second click reverses the order."""
    heads = {}
    for order, reverse, usual in (("name", "-name", "ascending"), ("changed", "oldest", "descending")):
        other = "ascending" if usual == "descending" else "descending"
        following = reverse if form.order_name == order else order
        heads[order] = {
            "address": form.address(order="" if following == USUAL_ORDER else following),
            # The value of `aria-sort` if the list is sorted by it, in either direction.
            "sort": {order: usual, reverse: other}.get(form.order_name, ""),
        }
    return heads


def quick_chips(form: FilterForm) -> list[dict[str, Any]]:
    """Return the chips of a list, each of which combines with the current filters."""
    offered: dict[str, Mapping[str, str]] = {}
    if form.caller.scope(Right.SAVE) != frozenset():
        offered[_("Waiting")] = {"waiting": "1"}
    if form.caller.username:
        offered[_("Mine")] = {"author": form.caller.username}
    offered[_("Starred")] = {"starred": "1"}
    offered[_("Labelled")] = {"labelled": "1"}
    if form.caller.scope(Right.READ_DRAFTS) != frozenset():
        offered[str(STATES[ResourceState.NEVER_PUBLISHED].word)] = {
            "state": ResourceState.NEVER_PUBLISHED.value
        }
        for name, filter_ in form.filters.items():
            choices = filter_.choices or () if filter_.is_quick else ()
            offered |= {str(title): {name: value} for value, title in choices}
    chips = []
    for title, values in offered.items():
        current = values.items() <= form.parameters.items()
        changes = dict.fromkeys(values, "") if current else values
        chips.append({"title": title, "address": form.address(**changes), "current": current})
    return chips


def tag_chip(form: FilterForm, tag: str) -> dict[str, Any]:
    tags = form.list_filter.get("tag", [])
    rest = [other for other in tags if other != tag]
    selected = rest if tag in tags else [*tags, tag]
    return {"title": tag, "address": form.address(tag=",".join(selected)), "current": tag in tags}


MAX_FOLDERS: Final = 300
"""The maximum number of folders on a page."""


@dataclass(kw_only=True)
class Folder:
    path: str
    """The common prefix of its ids, with a final `/`."""
    name: str
    count: int
    """The number of resources in it, at any depth."""
    is_open: bool
    """Whether its subfolders are shown: it is the current folder or one of its parents."""
    is_current: bool
    folders: list[Folder] = field(default_factory=list)


def tree(counts: Mapping[str, int], current: str) -> tuple[Sequence[Folder], int]:
    """Return the top folders with their subfolders, and the number of omitted folders.

    `counts` has the number of resources below each folder. The largest folders are shown, and the parents of
    the current one.
    """
    largest = sorted(counts, key=lambda path: (-counts[path], path))[:MAX_FOLDERS]
    paths = sorted({*largest, *(path for path in counts if current.startswith(path))})
    folders: dict[str, Folder] = {}
    outermost: list[Folder] = []
    for path in paths:  # a folder's parent comes before it, and has at least as many resources
        outer = path[: path.rstrip("/").rfind("/") + 1]
        folder = Folder(
            path=path,
            name=path[len(outer) : -1],
            count=counts[path],
            is_open=current.startswith(path),
            is_current=current == path,
        )
        folders[path] = folder
        (folders[outer].folders if outer in folders else outermost).append(folder)
    return outermost, len(counts) - len(paths)


MATCHING: Final = "matching"
"""The field with which a form selects all entries of a list, on every page: `agent?state=changed`."""


def value_of_matching(kind: StudioKind, query: str) -> str:
    return f"{kind.slug}?{query}"


def matching(
    fields: QueryDict, caller: Caller, narrow: Callable[[ListFilter], ListFilter]
) -> Sequence[ChosenVersion]:
    """Return the resources in a list that the caller may change, at most `MAX_CHOSEN`.

    `narrow` may filter the list further. Raises `Invalid`, which names the field, for another value.
    """
    slug, _, query = fields.get(MATCHING, "").partition("?")
    if slug not in KINDS_BY_SLUG:
        raise Invalid.field(MATCHING, "must be a kind and the query of a list")
    kind = KINDS_BY_SLUG[slug]
    form = FilterForm(QueryDict(query), kind=kind, caller=caller)
    if not form.is_valid():
        raise Invalid.field(MATCHING, "must be a kind and the query of a list")
    entries = kind.catalog(caller).search(narrow(form.list_filter), order=form.sorting)[:MAX_CHOSEN]
    return [
        ChosenVersion(kind=kind, id=entry.id, version_id=entry.version.version_id)
        for entry in entries
        if entry.version is not None and chosen_value(kind, entry, caller)
    ]


MAX_FILTERS: Final = 30
"""The maximum number of saved filters of a person for a list."""
_KEY: Final = re.compile(r"[0-9]{1,15}")


class FiltersPage(StudioPage):
    kind: StudioKind = AGENT

    def get(self, request: HttpRequest) -> HttpResponse:
        return self._show()

    def post(self, request: HttpRequest) -> HttpResponse:
        if "delete" in request.POST:
            saved_filter = self._find_filter(request.POST["delete"])
            saved_filter.delete()
            message = _("The filter “%(name)s” is deleted.") % {"name": saved_filter.name}
            return self.go(request.path, message)
        name = " ".join(request.POST.get("name", "").split())
        if "rename" in request.POST:
            saved_filter = self._find_filter(request.POST["rename"])
            problem = self._problem(name) or self._store(saved_filter, name=name)
            return self._show(problem, saved_filter, name) if problem else self.go(request.path)
        return self._save(name, request.POST.get("query", ""))

    def _save(self, name: str, query: str) -> HttpResponse:
        """Save the current filter of the list, without empty values, and go back to the list."""
        form = FilterForm(QueryDict(query), kind=self.kind, caller=self.caller)
        form.is_valid()
        query = form.address()[1:]
        saved_filter = SavedFilter(user_id=self.caller.user_id, kind=self.kind.slug, query=query)
        problem = self._problem(name) or self._problem_of_query(query) or self._store(saved_filter, name=name)
        if problem:
            return self._show(problem, None, name, query)
        message = _("The filter “%(name)s” is saved. Only you see it.") % {"name": name}
        return self.go(f"{self.kind.address('changelist')}?{query}", message)

    @property
    def _own(self) -> Any:
        return SavedFilter.objects.of(self.caller.user_id, self.kind.slug)

    def _find_filter(self, pk: str) -> SavedFilter:
        saved: SavedFilter | None = self._own.filter(pk=int(pk)).first() if _KEY.fullmatch(pk) else None
        if saved is None:
            raise NotFound
        return saved

    def _problem(self, name: str) -> str:
        if not name or not name.isprintable():
            return _("Give it a name.")
        if len(name) > MAX_FILTER_NAME:
            return _("A name has %(most)s characters at most.") % {"most": MAX_FILTER_NAME}
        return ""

    def _problem_of_query(self, query: str) -> str:
        if not query or len(query) > MAX_QUERY:
            return _("Narrow the list first: there is nothing to save.")
        if self._own.count() >= MAX_FILTERS:
            most = {"most": MAX_FILTERS}
            return _("You already have %(most)s filters for this list: delete one first.") % most
        return ""

    def _store(self, saved_filter: SavedFilter, *, name: str) -> str:
        """Store a filter under this name; return the error, or empty."""
        saved_filter.name = name
        try:
            with transaction.atomic():
                saved_filter.save()
        except IntegrityError:
            return _("You already have a filter with this name.")
        return ""

    def _show(
        self, problem: str = "", about: SavedFilter | None = None, name: str = "", query: str = ""
    ) -> HttpResponse:
        return self.page(
            "studio/resources/saved_filters.html",
            title=_("Your filters: %(list)s") % {"list": self.kind.title},
            status=400 if problem else 200,
            kind=self.kind,
            list_address=self.kind.address("changelist"),
            saved_filters=list(self._own),
            problem=problem,
            about=about,
            name=name,
            query=query,
            max_name=MAX_FILTER_NAME,
        )
