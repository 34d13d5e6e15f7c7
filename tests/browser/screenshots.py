"""The pictures in docs/screenshots: `make screenshots` draws them anew."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.conftest import NARROW, WIDE, Enter
from tests.browser.library import Library

FOLDER = Path(__file__).resolve().parents[2] / "docs/screenshots"
SHOWN = [
    *((name, WIDE, "light") for name in ("home", "agents", "edit-agent", "history", "compare", "publish")),
    *((name, WIDE, "light") for name in ("preview", "try", "members", "activity-of-workspace")),
    *((name, NARROW, "dark") for name in ("home", "edit-agent", "compare")),
]


@pytest.fixture(scope="session", autouse=True)
def nothing_hostile() -> Iterator[None]:
    """Write what a reader of the documentation expects where tests have a script that must not run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tests.browser.library.SCRIPT", "Thank them for waiting.")
        yield


@pytest.mark.parametrize(("name", "width", "theme"), SHOWN)
def test_a_page_is_drawn(enter: Enter, library: Library, name: str, width: int, theme: str) -> None:
    page = enter("alice", library.main_pages[name], width=width, theme=theme)
    picture = FOLDER / f"{name}-{width}-{theme}.png"
    page.screenshot(path=picture, animations="disabled", caret="hide")
    assert picture.stat().st_size
