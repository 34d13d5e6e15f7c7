"""What a browser says that it is, in words that people recognize."""

from __future__ import annotations

from typing import Final

from django.utils.translation import gettext as _

_BROWSERS: Final = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("CriOS/", "Chrome"),
    ("Safari/", "Safari"),
)
"""What tells them apart; each pretends to be those below it, too."""
_SYSTEMS: Final = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
)


def in_words(user_agent: str) -> str:
    """Return the browser and its system, "Firefox on Windows"; what it said, if it is no known browser."""
    browser = next((name for sign, name in _BROWSERS if sign in user_agent), "")
    system = next((name for sign, name in _SYSTEMS if sign in user_agent), "")
    if browser and system:
        return _("%(browser)s on %(system)s") % {"browser": browser, "system": system}
    return browser or user_agent
