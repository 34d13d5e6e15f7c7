"""The lint of the documents finds each kind of problem; `make check` runs it on the documents."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import docs_lint
from tests.support.pages import Block
from tests.support.service import ROOT

UNDOCUMENTED = {
    ("docs/reference/settings.md", "| `SECRET_KEY` |"): "the setting SECRET_KEY",
    ("docs/reference/commands.md", "| `serve ["): "the command serve",
    ("docs/reference/api.md", "| `GET /agents` |"): "the route GET /agents",
    ("docs/reference/runs.md", "\n| `text-delta` |"): "the event text-delta",
    ("docs/reference/errors.md", "`throttled`"): "the code throttled",
}
"""What is gone from a page, and what there is then nothing about."""


def test_an_undocumented_name_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(docs_lint.unexplained()) == []
    written = docs_lint.text

    def shortened(path: str) -> str:
        text = written(path)
        for page, gone in UNDOCUMENTED:
            text = text.replace(gone, "") if page == path else text
        return text

    monkeypatch.setattr(docs_lint, "text", shortened)
    missing = {f"{page}: nothing about {what}" for (page, _), what in UNDOCUMENTED.items()}
    assert set(docs_lint.unexplained()) == missing


def test_a_link_to_a_missing_file_or_heading_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One heading, here\n")
    assert docs_lint.leads_somewhere(page, "", "one-heading-here")
    assert not docs_lint.leads_somewhere(page, "", "another")
    assert not docs_lint.leads_somewhere(page, "gone.md", "")


def test_a_block_of_code_that_no_test_would_run_is_noticed() -> None:
    for language, text, not_run, wrong in [
        ("sh", "true", None, False),
        ("sh", "true", "it would remove what others need", False),
        ("sh", "true", "no", True),
        ("sh", "true", "it is what tests/project/test_docs_lint.py does", False),
        ("sh", "true", "it is what tests/test_gone.py does", True),
        ("json", "{}", None, False),
        ("json", "{", None, True),
        ("json", "{}", "it is not a program at all", True),
        ("bash", "true", None, True),
    ]:
        block = Block(
            page=ROOT / "README.md", line=1, language=language, text=text, not_run=not_run, shows=()
        )
        assert (docs_lint.wrong_block(block) is not None) == wrong


def test_a_message_that_no_code_has_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    written = docs_lint.text
    monkeypatch.setattr(
        docs_lint, "text", lambda path: written(path).replace("lacks migrations", "lacks paint")
    )
    [problem] = docs_lint.outdated_sentences()
    assert "lacks paint" in problem
