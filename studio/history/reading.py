"""A saved configuration in readable form: the prompt first, block by block, and the rest in words. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from studio.diff.readable import Condition, as_text, is_reference, readable
from studio.limits import PageBudget

_LINES_OF_A_BLOCK: Final = 5
"""How many lines a block counts for, including its heading."""


@dataclass(frozen=True, kw_only=True)
class Piece:
    """A piece of a saved field."""

    title: str = ""
    text: str = ""
    condition: str = ""
    """Its condition in words; empty if it always applies."""
    block_id: str = ""
    """The id of the referenced prompt block; empty for its own text."""
    left_out: int = 0
    """How many characters were left out."""


def pieces_of(name: str, value: Any, budget: PageBudget) -> list[Piece]:
    """Return the value of a field in pieces: instructions by block, other values as a whole."""
    shown = readable(name, value)
    if name != "instructions" or not isinstance(shown, list):
        return [_text("", as_text(shown), "", budget)]
    pieces = []
    for place, block in enumerate(shown, 1):
        if budget.is_spent:
            more = len(shown) - place + 1
            message = ngettext("And %(count)s more block", "And %(count)s more blocks", more)
            pieces.append(Piece(title=message % {"count": more}))
            break
        budget.lines -= _LINES_OF_A_BLOCK
        title = _("Block %(number)s") % {"number": place}
        if is_reference(block):
            pieces.append(Piece(title=title, block_id=block["id"]))
        else:
            rules: Condition = block["rules"]
            pieces.append(_text(title, block["content"], "" if rules.always else str(rules), budget))
    return pieces


def _text(title: str, text: str, condition: str, budget: PageBudget) -> Piece:
    taken = budget.take(text)
    return Piece(title=title, text=taken, condition=condition, left_out=len(text) - len(taken))
