"""The German of the studio: every text is translated, and the compiled catalogs match their sources."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.translations import APPS, ROOT, SHARED, collect, compiled

pytestmark = pytest.mark.skipif(
    shutil.which("xgettext") is None, reason="gettext is not installed, so texts cannot be collected."
)

PLACEHOLDER = re.compile(r"%\((\w+)\)s|\{(\w+)")


def catalogs(top: Path) -> list[Path]:
    return sorted(path for app in APPS for path in (top / app / "locale").rglob("*.po"))


def texts(catalog: Path) -> set[str]:
    """Return the entries of a catalog, without their translations and comments."""
    entries = catalog.read_text().split("\n\n")[1:]
    lines = [[line for line in entry.splitlines() if line[:3] in {"msg", '"'}] for entry in entries]
    return {"\n".join(line for line in entry if not line.startswith("msgstr")) for entry in lines}


def test_there_are_texts_to_translate() -> None:
    assert sum(len(texts(catalog)) for catalog in catalogs(ROOT)) > 1000


def test_every_text_is_collected_and_has_a_german_translation(tmp_path: Path) -> None:
    for app in (*APPS, *SHARED.values()):
        ignored = shutil.ignore_patterns("node_modules", "__pycache__")
        shutil.copytree(ROOT / app, tmp_path / app, ignore=ignored)
    collect(tmp_path)
    for catalog in catalogs(tmp_path):
        assert texts(catalog) == texts(ROOT / catalog.relative_to(tmp_path)), "run `make translations`"
        for unfinished in ("--untranslated", "--only-fuzzy"):
            left = subprocess.run(
                ["msgattrib", unfinished, catalog], capture_output=True, text=True, check=True
            )
            assert left.stdout == "", (
                f"write the German in {catalog.relative_to(tmp_path)}, then `make translations`"
            )


def test_no_translation_has_a_placeholder_that_its_text_lacks() -> None:
    for catalog in catalogs(ROOT):
        for entry in catalog.read_text().split("\n\n")[1:]:
            text, _, translated = entry.partition("\nmsgstr")
            may_name = {("", "name")} if '"you' in text.lower() else set()  # whom English calls “you”
            assert {*PLACEHOLDER.findall(translated)} <= {*PLACEHOLDER.findall(text)} | may_name, entry


def test_the_served_catalogs_are_compiled_from_the_sources() -> None:
    """Compiling also checks that a translation has the placeholders of its text."""
    for path, content in compiled().items():
        assert path.read_bytes() == content, "run `make translations`"


def test_no_text_gets_its_german_from_another_application() -> None:
    """Texts of all applications are one catalog at last: of two translations, that of the first one stays."""
    found: dict[tuple[str, str], str] = {}
    for app in APPS:
        for entry in (ROOT / app / "locale/de/LC_MESSAGES/django.po").read_text().split("\n\n")[1:]:
            context, text, german = (
                next(iter(re.findall(rf'^{name} "(.*)"$', entry, re.MULTILINE)), "")
                for name in ("msgctxt", "msgid", r"msgstr(?:\[0\])?")
            )
            first = found.setdefault((context, text), german)
            assert first == german, (app, context, text, first, german)
