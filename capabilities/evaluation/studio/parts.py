"""The settings of each type of scorer, as controls with words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from studio.kind_words import Part

_VALUE: Final = Part(
    name="value",
    title=_("Compared with"),
    help=_("Such as {{groundTruth}}, the good answer of an item, which it is if this is empty."),
)
_TEXT: Final = Part(name="value", title=_("Text"), help=_("Such as {{groundTruth}} or {{metadata.name}}."))
_LIMIT: Final = Part(name="value", title=_("At most"))
_IGNORE_CASE: Final = Part(
    name="ignoreCase", title=_("Upper and lower case count as equal"), control="yes_no"
)
_TOLERANCE: Final = Part(
    name="tolerance", title=_("Tolerance"), help=_("Numbers that differ by no more count as equal.")
)

PARTS: Final[Mapping[str, Sequence[Part]]] = {
    "equals": (
        _VALUE,
        _IGNORE_CASE,
        Part(name="trim", title=_("White space around it does not count"), control="yes_no"),
    ),
    "contains": (
        Part(name="values", title=_("Texts"), help=_("One in each line."), control="lines"),
        Part(
            name="mode",
            title=_("Texts that must occur"),
            control="choice",
            options={"all": _("all"), "any": _("at least one")},
        ),
        _IGNORE_CASE,
    ),
    "startsWith": (_TEXT, _IGNORE_CASE),
    "endsWith": (_TEXT, _IGNORE_CASE),
    "regex": (
        Part(name="pattern", title=_("Pattern"), help=_("In the syntax of RE2."), control="line"),
        _IGNORE_CASE,
    ),
    "jsonSchema": (Part(name="schema", title=_("JSON Schema"), control="json"),),
    "jsonEquals": (
        Part(name="path", title=_("Path"), help=_("Such as items.0.name."), control="line"),
        _VALUE,
        _TOLERANCE,
    ),
    "numeric": (
        _VALUE,
        _TOLERANCE,
        Part(
            name="decimal",
            title=_("Decimal sign"),
            help=_("In the answer and in the value. The other one may stand between groups of three digits."),
            control="choice",
            options={".": _("point: 1,234.5"), ",": _("comma: 1.234,5")},
        ),
    ),
    "similarity": (
        _VALUE,
        Part(
            name="algorithm",
            title=_("Measured by"),
            control="choice",
            options={"levenshtein": _("characters (levenshtein)"), "tokens": _("words (tokens)")},
        ),
    ),
    "calledTool": (
        Part(name="name", title=_("Name"), control="line"),
        Part(name="args", title=_("With these arguments"), control="json"),
        Part(name="not", title=_("The tool must not be called"), control="yes_no"),
    ),
    "maxTokens": (_LIMIT,),
    "maxMilliseconds": (_LIMIT,),
    "llm-judge": (
        Part(
            name="choices",
            title=_("Verdicts"),
            help=_("From two to ten; a row without a label is left out. Which pass is decided here."),
            control="rows",
            parts=(
                Part(name="label", title=pgettext_lazy("verdict", "Label"), control="line"),
                Part(name="score", title=_("Score")),
                Part(name="passes", title=_("Passes"), control="yes_no"),
            ),
        ),
        Part(
            name="promptBlock",
            title=_("Prompt block"),
            help=_("The id of a prompt block whose published text is the instructions."),
            control="line",
        ),
    ),
    "code": (Part(name="name", title=_("Name"), control="line"),),
}
"""By type; the others have no settings."""
