"""The icons: the font contains those that pages use, and few others."""

from __future__ import annotations

import re
from pathlib import Path

import studio
from tests.support.translations import APPS, ROOT
from versioning.domain.kinds import KINDS

STUDIO = Path(studio.__path__[0])
FOLDERS = (STUDIO / "static", *(ROOT / app / "templates" for app in APPS))
NAMED = re.compile(r"material-symbols-outlined[^>]*>\s*(\w+)\s*<")
"""An icon in a template; what a script names, the tests in a browser see."""


def test_the_font_has_every_icon_that_a_page_uses() -> None:
    files = [path for folder in FOLDERS for path in folder.rglob("*") if path.suffix in {".html", ".js"}]
    named = {name for path in files for name in NAMED.findall(path.read_text())}
    named |= {kind.icon for kind in KINDS}
    assert named >= {"search", "expand_more", "smart_toy"}
    icons = (STUDIO / "static/studio/fonts/icons.txt").read_text().split()
    assert named <= set(icons), "Add them to icons.txt, and run `make icons`."
    assert icons == sorted(set(icons))
