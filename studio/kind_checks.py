"""Checks of `manage.py check` for the studio's words and icons of applications' kinds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from django.core.checks import CheckMessage, Error, Warning  # noqa: A004  Django's name

from studio.forms.fields import is_chosen
from studio.kind_words import words_of_kind
from versioning.domain.kinds import KINDS, ResourceKind

ICONS: Final = Path(__file__).parent / "static/studio/fonts/icons.txt"


def check_words(**_options: Any) -> list[CheckMessage]:
    """Check that the words about each kind can be loaded and fit its fields, and that its icon exists."""
    icons = ICONS.read_text().split()
    problems = [problem for kind in KINDS for problem in _problems_of_words(kind)]
    if not problems:
        problems += [problem for kind in KINDS for problem in _problems_of_controls(kind)]
    return [*problems, *(problem for kind in KINDS for problem in _problems_of_icon(kind, icons))]


def _problems_of_words(kind: ResourceKind) -> Iterator[CheckMessage]:
    try:
        words = words_of_kind(kind)
    except (ImportError, TypeError, ValueError) as error:
        yield Error(f"The words about the kind {kind.slug!r} cannot be loaded: {error}", id="studio.E001")
        return
    unknown = [name for name in words.fields if name not in kind.schema.names]
    if unknown:
        yield Error(
            f"There are words about {', '.join(unknown)}, which the kind {kind.slug!r} does not have.",
            hint=f"Its fields are {', '.join(kind.schema.names)}.",
            id="studio.E002",
        )


def _problems_of_controls(kind: ResourceKind) -> Iterator[CheckMessage]:
    for name, words in words_of_kind(kind).fields.items():
        if not is_chosen(name, words.control):
            yield Error(
                f"The field {name!r} of the kind {kind.slug!r} does not have the control {words.control!r}.",
                hint="A field of another kind has the same name, and its control. Use another name.",
                id="studio.E003",
            )


def _problems_of_icon(kind: ResourceKind, icons: list[str]) -> Iterator[CheckMessage]:
    if kind.icon not in icons:
        yield Warning(
            f"The studio has no icon {kind.icon!r}, which {kind.plural} are to have: pages show the word.",
            hint=f"It has {', '.join(icons)}.",
            id="studio.W001",
        )
