"""The overlay that a request asks to preview or to try, such as a release."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from studio import extensions
from versioning.domain.selectors import OverlayName


class OverlayOnPage(NamedTuple):
    """An overlay, and what pages say about it."""

    name: OverlayName
    words: extensions.OverlayWords


def named_overlay(parameters: Mapping[str, str]) -> OverlayOnPage | None:
    """Return the overlay that the parameters of a request name; None for none."""
    named = ((name, words) for name, words in extensions.overlays().items() if parameters.get(name))
    return next((OverlayOnPage(OverlayName(name, parameters[name]), words) for name, words in named), None)
