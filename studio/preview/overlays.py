"""The overlay, such as a release, that a request wants to preview or try."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from studio import additions, extensions
from versioning.domain.selectors import OverlayName


class OverlayOnPage(NamedTuple):
    """An overlay, and the words about it."""

    name: OverlayName
    words: extensions.OverlayWords


def named_overlay(parameters: Mapping[str, str]) -> OverlayOnPage | None:
    """Return the overlay named by the parameters of a request, or None."""
    named = ((name, words) for name, words in additions.overlays().items() if parameters.get(name))
    return next((OverlayOnPage(OverlayName(name, parameters[name]), words) for name, words in named), None)
