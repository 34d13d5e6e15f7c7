"""The documentation as Markdown at `/docs/`, and its index for language models at `/llms.txt`.

`docs` in this folder is a link to the pages of the checkout; wheels and images have copies there.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Final

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

FOLDER: Final = (Path(__file__).parent / "docs").resolve()
INDEX: Final = "README.md"
SHELVES: Final = ("tutorials", "guides", "reference", "explanation", "decisions")
SUMMARY: Final = (
    "A service that you host to manage the prompts and the configuration of AI agents, in versions."
)


@cache
def titles() -> dict[str, str]:
    """Return the title of each page, by its path below `docs`; other files are not served."""
    pages = {path.relative_to(FOLDER).as_posix(): path for path in sorted(FOLDER.rglob("*.md"))}
    matches = {
        name: re.search(r"^# (.+)$", path.read_text("utf-8"), re.MULTILINE) for name, path in pages.items()
    }
    return {name: title[1] if title else name for name, title in matches.items()}


@require_safe
@cache_control(public=True, max_age=300)
def page(request: HttpRequest, name: str = INDEX) -> HttpResponse:
    """Return a page; without a name, the list of all pages."""
    if name not in titles():
        raise Http404
    return _markdown((FOLDER / name).read_bytes())


@require_safe
@cache_control(public=True, max_age=300)
def index_for_models(request: HttpRequest) -> HttpResponse:
    """Return the links to the pages of the documentation, in the format of llmstxt.org."""
    lines = ["# The editor", "", f"> {SUMMARY}"]
    for folder in SHELVES:
        lines += ["", f"## {folder.capitalize()}", ""]
        for name, title in titles().items():
            if name.startswith(f"{folder}/"):
                lines.append(f"- [{title}]({request.build_absolute_uri(reverse('docs', args=[name]))})")
    return _markdown("\n".join([*lines, ""]).encode())


def _markdown(text: bytes) -> HttpResponse:
    return HttpResponse(
        text, content_type="text/markdown; charset=utf-8", headers={"Content-Disposition": "inline"}
    )
