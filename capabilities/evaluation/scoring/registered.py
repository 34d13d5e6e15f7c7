"""The scorers that a caller may read, each with the agents that name it: as other runtimes list them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from django.db.models import F

from capabilities.evaluation.scoring.kind import SCORER
from capabilities.evaluation.scoring.models import ScorerReference
from capabilities.evaluation.scoring.scoring import problem_of
from versioning.conf import get_framework
from versioning.domain.access import APPLICATION, Caller
from versioning.editor import Editor
from versioning.editor.resources import Who, caller_of
from versioning.verbs import Verbs


class Registered(NamedTuple):
    """A scorer as it is published, or as its latest draft is where nothing is published."""

    id: str
    config: Mapping[str, Any]
    agents: Sequence[tuple[str, str]]
    """The (id, name) of the published agents that name it, as far as the caller may read them."""

    @property
    def is_run_here(self) -> bool:
        """Whether scorers of its type are run here, and nothing that it needs is missing."""
        block = self.config.get("config", {}).get("promptBlock")
        return problem_of(self.config, get_framework().scorers, block) is None


def registered(scoring: Verbs, *, by: Who = APPLICATION) -> list[Registered]:
    """Return all scorers that the caller may read."""
    caller = caller_of(by)
    rows = scoring.editor.collection(SCORER).list(by=caller).order_by("pk")
    agents = _agents(scoring.editor, {}, caller)
    shown = ((row.pk, row.active or row.latest) for row in rows)
    return [Registered(pk, version.config, agents.get(pk, ())) for pk, version in shown]


def registered_one(scoring: Verbs, scorer_id: str, *, by: Who = APPLICATION) -> Registered:
    """Return a scorer; raises `NotFound` if the caller may not read it."""
    caller = caller_of(by)
    config = scoring.editor.collection(SCORER).get(scorer_id, by=caller).version.config
    agents = _agents(scoring.editor, {"target_id": scorer_id}, caller)
    return Registered(scorer_id, config, agents.get(scorer_id, ()))


def _agents(editor: Editor, wanted: Mapping[str, str], by: Caller) -> Mapping[str, Sequence[tuple[str, str]]]:
    """Return the published agents by the scorers that they name; what overrides name plays no part."""
    readable = editor.agent.list(by=by).exclude(pk__in=editor.code.agents).order_by()
    rows = ScorerReference.objects.filter(**wanted, version__in=readable.values("active_version"))
    names = rows.order_by("version__resource_id").values_list(
        "target_id", "version__resource_id", F("version__name")
    )
    found: dict[str, list[tuple[str, str]]] = {}
    for scorer_id, agent_id, name in names:
        found.setdefault(scorer_id, []).append((agent_id, name))
    return found
