"""The form for a gate, and its rules in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from django import forms
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from capabilities.evaluation.gates.api import MAX_ATTEMPTS, MAX_DAYS
from capabilities.evaluation.gates.models import LATEST, Bypass, TooFew, ToolPolicy
from capabilities.evaluation.studio.choices import json_object

KEPT: Final = "kept"
PINNED: Final = "pinned"
"""The choice of the version of the dataset that the gate is about."""
RULES: Final[dict[str, Promise]] = {
    "notWorse": gettext_lazy("it is not found to be worse than live"),
    "nonInferior": gettext_lazy("it is at most … worse than live (proven)"),
    "noNewFailures": gettext_lazy("nothing fails that passes live"),
    "allPass": gettext_lazy("every item passes, in every attempt"),
    "passRate": gettext_lazy("at least …% of the items pass"),
    "maxTokens": gettext_lazy("it uses at most … × the tokens of live"),
}
_WITH_NUMBER: Final[dict[str, Promise]] = {
    "nonInferior": gettext_lazy("it is at most %(number)s worse than live (proven)"),
    "passRate": gettext_lazy("at least %(number)s%% of the items pass"),
    "maxTokens": gettext_lazy("it uses at most %(number)s × the tokens of live"),
}
NUMBERS: Final = {"nonInferior": "margin", "passRate": "min", "maxTokens": "ratio"}
"""The rules with a number, and its member."""
PERCENT: Final = 100
BYPASSES: Final = {
    Bypass.ADMIN: gettext_lazy("admins, with a reason"),
    Bypass.NOBODY: gettext_lazy("no one"),
}


def in_words(rule: Mapping[str, Any]) -> str:
    """Return a rule in words, with its number."""
    name, tag, scorer = rule["rule"], rule.get("tag"), rule.get("scorerId")
    if name == "allPass" and tag is not None:
        words = _("every item with the tag %(tag)s passes, in every attempt") % {"tag": tag}
    elif name in NUMBERS:
        number = rule[NUMBERS[name]]
        words = str(_WITH_NUMBER[name]) % {
            "number": f"{PERCENT * number if name == 'passRate' else number:g}"
        }
    else:
        words = str(RULES[name])
    return f"{words} ({scorer})" if scorer is not None else words


class GateForm(forms.Form):
    """What is asked before a version goes live."""

    agent = forms.ChoiceField(label=gettext_lazy("Agent"), required=False)
    dataset = forms.ChoiceField(label=gettext_lazy("Dataset"))
    scorers = forms.MultipleChoiceField(
        label=gettext_lazy("Scorers"),
        error_messages={"required": gettext_lazy("Choose at least one scorer.")},
    )
    primary = forms.ChoiceField(label=gettext_lazy("Deciding scorer"), required=False)
    attempts = forms.IntegerField(
        label=gettext_lazy("Attempts for each item"), min_value=1, max_value=MAX_ATTEMPTS, initial=1
    )
    rule = forms.ChoiceField(label=gettext_lazy("A version may go live if"), choices=list(RULES.items()))
    number = forms.FloatField(
        label=gettext_lazy("Limit (the … in the rule)"),
        required=False,
        help_text=gettext_lazy(
            "A percentage of the items, points of the score, or a factor, depending on the rule."
        ),
    )
    tag = forms.CharField(
        label=gettext_lazy("Only items with this tag (optional)"),
        required=False,
    )
    days = forms.IntegerField(
        label=gettext_lazy("Days until evidence expires"), min_value=1, max_value=MAX_DAYS, initial=30
    )
    policy = forms.ChoiceField(
        label=gettext_lazy("Items that count"),
        choices=[
            (LATEST, gettext_lazy("all current items; only publishers may change the dataset")),
            (
                PINNED,
                gettext_lazy(
                    "the items of its current version, even after changes; editors may change the dataset"
                ),
            ),
        ],
    )
    context = forms.CharField(
        label=gettext_lazy("Request context"),
        required=False,
        widget=forms.Textarea,
        help_text=gettext_lazy(
            "A JSON object. Only experiments with this context count; an item’s own context takes precedence."
        ),
    )
    tools = forms.ChoiceField(
        label=gettext_lazy("Tools without a mock"),
        choices=[
            (ToolPolicy.DENY, gettext_lazy("make the item fail")),
            (ToolPolicy.ALLOW, gettext_lazy("are called for real")),
        ],
    )
    few = forms.ChoiceField(
        label=gettext_lazy("If there are too few items to tell"),
        choices=[
            (TooFew.REFUSE, gettext_lazy("the version can’t go live")),
            (TooFew.ALLOW, gettext_lazy("the version may go live")),
        ],
    )
    bypass = forms.ChoiceField(
        label=gettext_lazy("Who may publish without evidence"), choices=list(BYPASSES.items())
    )
    enabled = forms.ChoiceField(
        label=gettext_lazy("Enabled"), choices=[("yes", gettext_lazy("yes")), ("no", gettext_lazy("no"))]
    )

    CONDITIONS: Final = (
        "primary",
        "attempts",
        "days",
        "policy",
        "context",
        "tools",
        "few",
        "bypass",
        "enabled",
    )
    _OF_RULES: Final = ("number", "tag")

    @property
    def main(self) -> list[forms.BoundField]:
        """The fields that are always seen."""
        return [one for one in self if one.name not in {*self.CONDITIONS, *self._OF_RULES}]

    @property
    def conditions(self) -> list[forms.BoundField]:
        """The other fields that no rule needs."""
        return [self[name] for name in self.CONDITIONS]

    @property
    def has_errors_in_conditions(self) -> bool:
        """Whether one of these has to be corrected."""
        return any(condition.errors for condition in self.conditions)

    def clean_context(self) -> dict[str, Any]:
        """Return the request context; raises `ValidationError` unless it is a JSON object."""
        return json_object(self.cleaned_data["context"]) or {}

    def clean(self) -> dict[str, Any]:
        """Check that a rule with a number has one that is possible."""
        given = self.cleaned_data
        rule, number = given.get("rule"), given.get("number")
        if rule in NUMBERS and "number" in given:
            if number is None:
                self.add_error("number", _("is required for this rule"))
            elif rule == "passRate" and not 0 <= number <= PERCENT:
                self.add_error("number", _("must be from 0 to 100"))
            elif rule != "passRate" and number <= 0:
                self.add_error("number", _("must be greater than 0"))
        return given

    @property
    def rate(self) -> float | None:
        """The share of items that has to pass; None unless the rule is about that."""
        given = self.cleaned_data
        return given["number"] / PERCENT if given["rule"] == "passRate" else None

    @property
    def fields_of_gate(self) -> dict[str, Any]:
        """The fields of the gate, as its verbs take them."""
        given = self.cleaned_data
        found = {
            "dataset_id": given["dataset"],
            "scorer_ids": given["scorers"],
            "attempts": given["attempts"],
            "evidence_days": given["days"],
            "request_context": given["context"],
            "tool_policy": given["tools"],
            "too_few": given["few"],
            "bypass": given["bypass"],
            "enabled": given["enabled"] == "yes",
        }
        if given["primary"]:
            found["primary_scorer"] = given["primary"]
        if given["rule"] != KEPT:
            found["rules"] = [self._rule()]
        return found

    def _rule(self) -> dict[str, Any]:
        name, number, tag = (self.cleaned_data[one] for one in ("rule", "number", "tag"))
        if name not in NUMBERS:
            return {"rule": name, "tag": tag} if name == "allPass" and tag else {"rule": name}
        return {"rule": name, NUMBERS[name]: number / PERCENT if name == "passRate" else number}
