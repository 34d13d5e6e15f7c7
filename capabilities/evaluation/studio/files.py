"""A dataset from a file or from the cells of a spreadsheet, and to a file."""

from __future__ import annotations

import base64
import binascii
import zlib
from typing import Any, Final

from django import forms
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from capabilities.evaluation.datasets.api import exported
from capabilities.evaluation.datasets.formats import FORMATS
from capabilities.evaluation.datasets.verbs import Datasets, FailedRow, Imported, ImportRefused
from capabilities.evaluation.studio.base import DatasetPage
from capabilities.evaluation.studio.columns import ENCODINGS, EXAMPLE, FIRST_ROWS, Sheet
from studio.translation import translated
from versioning.domain.access import Right
from versioning.domain.errors import Invalid, NotFound

_SUFFIXES: Final = {"csv": "csv", "tsv": "csv", "txt": "csv", "yaml": "promptfoo", "yml": "promptfoo"}
MAX_SHOWN: Final = 50
"""How many rows that fail are shown."""
TITLES: Final = {
    "csv": gettext_lazy("Table (CSV)"),
    "jsonl": gettext_lazy("JSON Lines"),
    "promptfoo": gettext_lazy("promptfoo test cases (YAML)"),
}


class ImportForm(forms.Form):
    """A file, or cells that were copied."""

    file = forms.FileField(label=gettext_lazy("File"), required=False, allow_empty_file=True)
    pasted = forms.CharField(label=gettext_lazy("Or cells from a spreadsheet"), required=False, strip=False)
    first_row = forms.ChoiceField(label=gettext_lazy("First row"), required=False, choices=FIRST_ROWS)
    format = forms.ChoiceField(
        label=gettext_lazy("Format"),
        required=False,
        choices=[("", gettext_lazy("By the name of the file")), *TITLES.items()],
    )
    content = forms.CharField(required=False, widget=forms.HiddenInput)
    """The file that was looked at (`packed`): what a browser sends of a text is not always that text."""

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
            first_row, given["body"] = _unpacked(given["content"])
            if "first_row" not in self.data:
                given["first_row"] = first_row
        elif pasted.strip():
            given["body"] = pasted.replace("\r\n", "\n").encode()
        else:
            raise forms.ValidationError(_("Choose a file, or paste cells."))
        if len(packed("", given["body"])) > settings.EDITOR_MAX_BODY * 3 // 4:
            message = _("This file is too large for a preview. Split it, or send it to the API.")
            raise forms.ValidationError(message)
        return given


def packed(first_row: str, body: bytes) -> str:
    """Return a file, and what its first row is, as the page holds them meanwhile: nothing is stored."""
    return f"{first_row}:{base64.b64encode(zlib.compress(body)).decode()}"


def _unpacked(content: str) -> tuple[str, bytes]:
    """Return what was packed, at most `EDITOR_MAX_BODY` bytes of a file; raises `ValidationError`."""
    reading = zlib.decompressobj()
    first_row, _colon, file = content.partition(":")
    try:
        body = reading.decompress(base64.b64decode(file, validate=True), settings.EDITOR_MAX_BODY)
    except (binascii.Error, ValueError, zlib.error):
        body = b""
    if not reading.eof:
        raise forms.ValidationError(_("The file did not arrive completely. Choose it again."))
    return (EXAMPLE if first_row == EXAMPLE else ""), body


class ImportPage(DatasetPage):
    """Shows what an import would do and what each column becomes, and does it."""

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
        sheet = None
        try:
            if given["format"] == "csv":
                sheet = Sheet(given["body"], given["first_row"], request.POST)
            done = Datasets.import_items(
                self.dataset_id,
                given["body"],
                format=given["format"],
                dry_run=looks,
                encodings=ENCODINGS if sheet else (),
                layout=sheet.layout if sheet else None,
                by=self.caller,
            )
        except ImportRefused as error:  # it fitted when it was looked at
            return self.looked_at(form, sheet, Imported(failed=list(error.failed)), status=400)
        except Invalid as error:
            issues = [f"{issue.field}: {translated(issue.message)}" for issue in error.issues[:MAX_SHOWN]]
            if sheet is not None:  # other choices may help
                return self.looked_at(form, sheet, None, status=400, errors=issues)
            for issue in issues:
                form.add_error(None, issue)
            return self.show(form, status=400)
        if looks:
            return self.looked_at(form, sheet, done)
        sentence = _("New items: %(created)s. Duplicates: %(unchanged)s.")
        return self.go(self.own_address(), sentence % {"created": done.created, "unchanged": done.unchanged})

    def looked_at(
        self, form: ImportForm, sheet: Sheet | None, done: Imported | None, *, status: int = 200, **more: Any
    ) -> HttpResponse:
        """Show what would be done with the file."""
        given = form.cleaned_data
        failed = done.failed if done is not None else []
        return self.show(
            form,
            status=status,
            is_looked_at=True,
            done=done,
            failed=[(one.row, _sentences(one)) for one in failed[:MAX_SHOWN]],
            others=max(0, len(failed) - MAX_SHOWN),
            content=packed(given["first_row"], given["body"]),
            chosen_format=given["format"],
            sheet=sheet,
            **more,
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
