"""Controls are called what they show, in every language: voice control finds them (WCAG 2.5.3)."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from django.utils import translation

from tests.support.translations import APPS, ROOT

TEXT = r"{% translate \"([^\"]+)\"(?: context \"([^\"]+)\")? %}"
NAMED = re.compile(
    r'<(?:a|button|summary)\b[^<>]*?aria-label="(?:{% blocktranslate[^%]*%}([^"]*?){% endblocktranslate %}|'
    + TEXT
    + r')"[^<>]*>\s*'
    + TEXT
)


def controls() -> Iterator[tuple[str, str, str, str]]:
    """Yield the template, the name and the visible text of controls that have both, with its context."""
    for path in sorted(path for app in APPS for path in (ROOT / app / "templates").rglob("*.html")):
        for match in NAMED.finditer(path.read_text()):
            named, plain, _context, shown, context = match.groups()
            yield path.name, re.sub(r"{{ (\w+) }}", r"%(\1)s", named or plain), shown, context or ""


def words(text: str) -> str:
    """Return a text without its case and dots."""
    return text.replace("…", "").strip().casefold()


@pytest.mark.parametrize("language", ["en", "de"])
def test_names_contain_what_is_seen(language: str) -> None:
    found = list(controls())
    assert len(found) > 10
    with translation.override(language):
        for template, named, shown, context in found:
            name = translation.gettext(named)
            seen = translation.pgettext(context, shown) if context else translation.gettext(shown)
            assert words(seen) in words(name), f"{template}: “{seen}” is called “{name}”"
