"""What forms of the application offer, the agents and the scorers of a workspace; and JSON in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from editor_client.shared import canonical
from editor_client.shared.text_keys import collation_key

from evaluation.scoring.kind import SCORER
from evaluation.scoring.models import Scorer
from studio.kinds import KINDS_BY_SLUG
from versioning.conf import get_editor
from versioning.domain.access import Caller
from versioning.domain.agents import AGENT
from versioning.domain.errors import Invalid

Choices = list[tuple[str, str]]


def agent_choices(workspace_id: str, by: Caller) -> Choices:
    """Return the agents of a workspace, stored or defined in code, that the caller may read: id and name."""
    editor = get_editor()
    rows = editor.collection(AGENT).list(by=by).filter(workspace=workspace_id)
    named = {one.pk: str(one.latest.config["name"]) for one in rows.select_related("latest_version")}
    if workspace_id == editor.code.workspace_id:
        named = {**{key: one.name for key, one in editor.code.readable_by(by).items()}, **named}
    return sorted(named.items(), key=lambda one: collation_key(one[1]))


def agent_names(ids: Iterable[str], by: Caller) -> Mapping[str, str]:
    """Return the names of those agents, stored or defined in code, that the caller may read, by their ids."""
    editor, wanted = get_editor(), set(ids)
    in_code = {key: one.name for key, one in editor.code.readable_by(by).items() if key in wanted}
    rows = editor.collection(AGENT).list(by=by).filter(pk__in=wanted).select_related("latest_version")
    return {**in_code, **{one.pk: str(one.latest.config["name"]) for one in rows}}


def scorer_choices(workspace_id: str, by: Caller, *, held: Iterable[str] = ()) -> Choices:
    """Return the scorers of a workspace that the caller may read: id and name.

    Those that are `held` are there in any case.
    """
    rows = get_editor().collection(SCORER).list(by=by).filter(workspace=workspace_id)
    named = {one.pk: str(one.latest.config["name"]) for one in rows.select_related("latest_version")}
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
