"""A dataset from a file or from the cells of a spreadsheet, and to a file."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any, Final

from django import forms
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from evaluation.datasets.files_api import exported
from evaluation.datasets.formats.known import FORMATS
from evaluation.datasets.formats.tables import from_spreadsheet
from evaluation.datasets.importing import FailedRow, Imported, ImportRefused
from evaluation.datasets.verbs import Datasets
from evaluation.studio.base import DatasetPage
from studio.translation import translated
from versioning.domain.access import Right
from versioning.domain.errors import Invalid, NotFound

_SUFFIXES: Final = {"csv": "csv", "tsv": "csv", "txt": "csv", "yaml": "promptfoo", "yml": "promptfoo"}
EXAMPLE: Final = "example"
"""What a form says of cells without a header."""
_HEADER: Final = "input\tgroundTruth"
MAX_SHOWN: Final = 50
"""How many rows that fail are shown."""
TITLES: Final = {
    "csv": gettext_lazy("Table (CSV)"),
    "jsonl": gettext_lazy("JSON Lines"),
    "promptfoo": gettext_lazy("Test cases of promptfoo (YAML)"),
}


class ImportForm(forms.Form):
    """A file, or cells that were copied."""

    file = forms.FileField(label=gettext_lazy("File"), required=False, allow_empty_file=True)
    pasted = forms.CharField(label=gettext_lazy("Or cells from a spreadsheet"), required=False, strip=False)
    first_row = forms.ChoiceField(
        label=gettext_lazy("The first of these rows"),
        required=False,
        choices=[
            ("", gettext_lazy("has the names of the columns, such as input and groundTruth")),
            (EXAMPLE, gettext_lazy("is an example already: first the input, then a good answer")),
        ],
    )
    format = forms.ChoiceField(
        label=gettext_lazy("Format"),
        required=False,
        choices=[("", gettext_lazy("By the name of the file")), *TITLES.items()],
    )
    content = forms.CharField(required=False, widget=forms.HiddenInput)
    """The file that was looked at, in base64: what a browser sends of a text is not always that text."""

    def clean(self) -> dict[str, Any]:
        """Add the bytes of the file as `body`, and its format; raises `ValidationError` without a file."""
        given: dict[str, Any] = super().clean() or {}
        file, pasted = given.get("file"), given.get("pasted", "")
        name = file.name if file is not None else ""
        by_name = _SUFFIXES.get(name.rpartition(".")[2].lower(), "jsonl") if name else "csv"
        given["format"] = given.get("format") or by_name
        if file is not None:
            given["body"] = file.read()
        elif given.get("content"):
            try:
                given["body"] = base64.b64decode(given["content"], validate=True)
            except (binascii.Error, ValueError):
                raise forms.ValidationError(_("This file did not arrive whole; choose it again.")) from None
        elif pasted.strip():
            text = pasted.replace("\r\n", "\n")
            if given.get("first_row") == EXAMPLE and given["format"] == "csv":
                text = f"{_HEADER}\n{text}"
            given["body"] = (from_spreadsheet(text) if given["format"] == "csv" else text).encode()
        else:
            raise forms.ValidationError(_("Choose a file, or paste cells."))
        return given


class ImportPage(DatasetPage):
    """Shows what an import would do, and does it."""

    right = Right.SAVE

    def get(self, request: HttpRequest, workspace: str, dataset: str) -> HttpResponse:
        """Show the form."""
        return self.show(ImportForm())

    def post(self, request: HttpRequest, workspace: str, dataset: str) -> HttpResponse:
        """Show what the import would do; after that, do it."""
        form = ImportForm(request.POST, request.FILES)
        if not form.is_valid():
            return self.show(form, status=400)
        given = form.cleaned_data
        looks = request.POST.get("do") != "import"
        try:
            done = Datasets.import_items(
                self.dataset_id, given["body"], format=given["format"], dry_run=looks, by=self.caller
            )
        except ImportRefused as error:  # it fitted when it was looked at
            return self.looked_at(form, Imported(failed=list(error.failed)), status=400)
        except Invalid as error:
            for issue in error.issues[:MAX_SHOWN]:
                form.add_error(None, f"{issue.field}: {translated(issue.message)}")
            return self.show(form, status=400)
        if looks:
            return self.looked_at(form, done)
        sentence = _("%(created)s items are new, %(unchanged)s were there already.")
        return self.go(self.own_address(), sentence % {"created": done.created, "unchanged": done.unchanged})

    def looked_at(self, form: ImportForm, done: Imported, *, status: int = 200) -> HttpResponse:
        """Show what would be done with the file."""
        given = form.cleaned_data
        return self.show(
            form,
            status=status,
            done=done,
            failed=[(one.row, _sentences(one)) for one in done.failed[:MAX_SHOWN]],
            others=max(0, len(done.failed) - MAX_SHOWN),
            content=base64.b64encode(given["body"]).decode(),
            chosen_format=given["format"],
            lacks_header=given["format"] == "csv" and not _names_input(given["body"]),
        )

    def show(self, form: ImportForm, *, status: int = 200, **more: Any) -> HttpResponse:
        """Return the page."""
        return self.page(
            "evaluation/import.html",
            title=_("Import into %(name)s") % {"name": self.dataset.name},
            status=status,
            form=form,
            **more,
        )


def _names_input(table: bytes) -> bool:
    """Return whether the first row of a table names the input or the good answer."""
    first = table.decode(errors="replace").lstrip("\ufeff\r\n").partition("\n")[0]
    names = {one.strip('" \r').partition(".")[0] for one in re.split(r"[,;\t]", first)}
    return not names.isdisjoint({"input", "groundTruth"})


def _sentences(failed: FailedRow) -> list[str]:
    return [f"{issue.field}: {translated(issue.message)}" for issue in failed.issues]


class ExportPage(DatasetPage):
    """The items as a file."""

    def get(self, request: HttpRequest, workspace: str, dataset: str) -> HttpResponseBase:
        """Send it."""
        name, version = request.GET.get("format", "csv"), request.GET.get("version", "")
        is_number = version.isascii() and version.isdecimal() and len(version) < 10  # noqa: PLR2004
        if name not in FORMATS or (version and not is_number):
            raise NotFound
        return exported(self.dataset_id, name, version=int(version) if version else None, by=self.caller)
