"""The editor of prompts: built from the sources next to it, small, and loaded only where it is used."""

from __future__ import annotations

import gzip
import hashlib
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import Cast
from tests.support.api import Kind
from tests.support.service import ROOT
from tests.support.studio import KINDS, Visitor, page_of

FRONTEND = ROOT / "studio" / "frontend"
STATIC = ROOT / "studio" / "static" / "studio"
pytestmark = [pytest.mark.processes, pytest.mark.processes]  # npm's packages are installed for those

BUILT = ("prompt-editor.js", "prompt-editor.licences.txt")
MAX_COMPRESSED = 200_000
CONTROLS = {"instructions": "instructions.text", "content": "content"}


def test_the_bundle_belongs_to_its_sources() -> None:
    sources = ["build.mjs", "package-lock.json", "package.json", "../static/studio/text.js"]
    sources += [f"src/{file.name}" for file in (FRONTEND / "src").iterdir()]
    digest = hashlib.sha256()
    for name in sorted(sources):
        digest.update(f"{name}\n".encode() + (FRONTEND / name).read_bytes())
    first_line = (STATIC / "prompt-editor.js").read_text("utf-8").partition("\n")[0]
    assert digest.hexdigest() in first_line, "run `make prompt-editor`"


def test_building_the_sources_gives_the_bundle(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None or not (FRONTEND / "node_modules" / ".installed").exists():
        pytest.skip("What builds the editor is not installed: run `make prompt-editor`.")
    subprocess.run([node, "build.mjs", str(tmp_path)], cwd=FRONTEND, check=True, capture_output=True)
    for name in BUILT:
        assert (tmp_path / name).read_bytes() == (STATIC / name).read_bytes()


def test_the_bundle_is_small_and_its_compressed_form_the_same() -> None:
    compressed = (STATIC / "prompt-editor.js.gz").read_bytes()
    assert len(compressed) < MAX_COMPRESSED
    assert gzip.decompress(compressed) == (STATIC / "prompt-editor.js").read_bytes()


def test_the_licences_of_bundled_packages_are_in_the_repository() -> None:
    text = (STATIC / "prompt-editor.licences.txt").read_text("utf-8")
    assert text.count("Permission is hereby granted") >= 10
    for package in ("@codemirror/view", "@lezer/markdown", "style-mod", "tokenx"):
        assert f"\n{package} " in text


def test_the_prompt_editor_is_loaded_only_where_prompts_are_written(cast: Cast, kind: Kind) -> None:
    kind.make(cast.edgar, "writer")
    window = Visitor("edgar")
    pages = {
        "add": KINDS[kind].address("add"),
        "changelist": KINDS[kind].address("changelist"),
        **{page: page_of(kind, page) for page in ("change", "history", "publish", "preview", "activity")},
    }
    loaded = {name for name, address in pages.items() if "prompt-editor.js" in window.get(address).markup}
    assert loaded == {"add", "change"}


def test_placeholders_are_marked_only_in_templates(cast: Cast, kind: Kind) -> None:
    kind.make(cast.edgar, "writer")
    window = Visitor("edgar")
    # An agent's one text is used as it is; its blocks, and prompt blocks, are filled in.
    expected = "literal" if kind.text == "instructions" else "filled"
    places = {KINDS[kind].address("add"): "text", page_of(kind, "change"): CONTROLS[kind.text]}
    for address, name in places.items():
        markup = window.get(address).markup
        textareas = [found for found in re.findall(r"<textarea[^>]*>", markup) if f'name="{name}"' in found]
        assert [f'data-prompt data-placeholders="{expected}"' in found for found in textareas] == [True]
