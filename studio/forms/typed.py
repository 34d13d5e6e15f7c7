"""Typed text: browsers send its line ends as CR and LF, and count each as one character."""

from __future__ import annotations

from django.http import HttpRequest


def with_own_line_ends(text: str) -> str:
    """Return a text from a form with plain line feeds, as it is counted and stored."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def typed_text(request: HttpRequest, name: str) -> str:
    """Return the text of a field of a form; empty if the form has no such field."""
    return with_own_line_ends(request.POST.get(name, ""))
