"""What forms of the application offer, the agents and the scorers of a workspace; and JSON in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from django import forms
from django.http import HttpRequest, JsonResponse
from django.utils.translation import gettext as _
from editor_client.shared import canonical
from editor_client.shared.text_keys import collation_key

from capabilities.evaluation.scoring.kind import SCORER
from capabilities.evaluation.scoring.models import Scorer
from studio.editing.choices import MAX_CHOICES, Choice
from studio.kinds import KINDS_BY_SLUG
from studio.named import names_of
from studio.workspaces.views import WorkspacePage
from versioning.conf import get_editor
from versioning.domain.access import Caller, Right
from versioning.domain.agents import AGENT
from versioning.domain.errors import Invalid
from versioning.editor.catalog import suggestions

Choices = list[tuple[str, str]]
MOST_LISTED: Final = 50
"""How many agents a form lists; of more one searches."""


def agent_choices(workspace_id: str, by: Caller) -> Choices:
    """Return the agents of a workspace, stored or defined in code, that the caller may read: id and name."""
    editor = get_editor()
    rows = editor.collection(AGENT).list(by=by).filter(workspace=workspace_id)
    ids = set(rows.values_list("pk", flat=True))
    if workspace_id == editor.code.workspace_id:
        ids |= editor.code.readable_by(by).keys()
    return sorted(agent_names(ids, by).items(), key=lambda one: collation_key(one[1]))


def offer_agents(form: forms.Form, workspace_id: str, by: Caller, *first: tuple[str, Any]) -> None:
    """Set what the field `agent` offers: a list of a few, or else a field that searches while one types."""
    field = form.fields["agent"]
    rows = get_editor().collection(AGENT).list(by=by).filter(workspace=workspace_id)
    if rows[: MOST_LISTED + 1].count() <= MOST_LISTED:
        offer(form, agent=[*first, *agent_choices(workspace_id, by)])
        return
    help_text = _("Enter part of the name or id.")
    if first:
        help_text += " " + _("Leave empty for every agent.")
    form.fields["agent"] = forms.CharField(
        label=field.label,
        required=field.required,
        help_text=help_text,
        widget=forms.TextInput(attrs={"pick": "agent"}),
    )


class AgentChoicesPage(WorkspacePage):
    """Agents of a workspace while a person types: `?q=refund`, as JSON."""

    right = Right.READ_DRAFTS

    def get(self, request: HttpRequest, workspace: str) -> JsonResponse:
        """Return the first agents that have the text in their id or name."""
        text = request.GET.get("q", "").replace("\x00", "").strip()
        kind = KINDS_BY_SLUG[AGENT.slug]
        found = suggestions(kind.catalog(self.caller), text, MAX_CHOICES, workspace_id=self.workspace.pk)
        return JsonResponse({"choices": [asdict(Choice.of(kind, one)) for one in found]})


def agent_names(ids: Iterable[str], by: Caller) -> Mapping[str, str]:
    """Return the names of those agents, stored or defined in code, that the caller may read, by their ids."""
    return {pk: name for (_slug, pk), name in names_of(((AGENT.slug, one) for one in ids), by).items()}


def scorer_choices(workspace_id: str, by: Caller, *, held: Iterable[str] = ()) -> Choices:
    """Return the scorers of a workspace that the caller may read: id and name.

    Those that are `held` are there in any case.
    """
    rows = get_editor().collection(SCORER).list(by=by).filter(workspace=workspace_id)
    named = {row.pk: str(row.latest.config["name"]) for row in rows.select_related("latest_version")}
    offered = {**{one: one for one in held}, **named}
    return sorted(offered.items(), key=lambda one: collation_key(one[1]))


def published_scorers(ids: Iterable[str]) -> set[str]:
    """Return those of the scorers that have a published version."""
    return set(Scorer.objects.filter(pk__in=ids, active_version__isnull=False).values_list("pk", flat=True))


def scorer_address(scorer_id: str) -> str:
    """Return the address of the page on which a scorer is published."""
    return KINDS_BY_SLUG[SCORER.slug].address("publish", scorer_id)


def offer(form: forms.Form, **choices: Sequence[tuple[str, Any]]) -> None:
    """Set what fields of a form offer."""
    for name, offered in choices.items():
        form.fields[name].choices = offered  # type: ignore[attr-defined]


def json_object(text: str) -> dict[str, Any] | None:
    """Return the JSON object in a field of a form; None for an empty one; raises `ValidationError`."""
    if not text.strip():
        return None
    try:
        value = canonical.parse(text)
    except Invalid as error:
        raise forms.ValidationError(str(error.issues[0].message)) from None
    if not isinstance(value, dict):
        raise forms.ValidationError(_("must be a JSON object"))
    return value
