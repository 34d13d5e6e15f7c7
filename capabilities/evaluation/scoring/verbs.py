"""The verbs of scorers that other kinds do not have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from django.db.models import F

from capabilities.evaluation.scoring.kind import SCORER
from capabilities.evaluation.scoring.models import ScorerReference
from capabilities.evaluation.scoring.scoring import Attempt, ScoreOutcome, find_problem, score
from versioning.conf import get_framework
from versioning.domain.access import APPLICATION, Caller, Right
from versioning.domain.agents import PROMPT_BLOCK
from versioning.domain.errors import NotFound
from versioning.domain.registering import require_callable
from versioning.domain.selectors import PUBLISHED
from versioning.editor import Editor
from versioning.editor.resources import Who, caller_of
from versioning.models import VersionedResource
from versioning.models.storage import give_back
from versioning.verbs import Verbs


class Registered(NamedTuple):
    """A scorer in its published version or, without one, its latest draft."""

    id: str
    config: Mapping[str, Any]
    agents: Sequence[tuple[str, str]]
    """The (id, name) of the published agents that name it, as far as the caller may read them."""

    @property
    def is_run_here(self) -> bool:
        """Whether scorers of its type are run here, and its dependencies exist."""
        block = self.config.get("config", {}).get("promptBlock")
        return find_problem(self.config, get_framework().scorers, block) is None


def list_registered(scoring: Verbs, *, by: Who = APPLICATION) -> list[Registered]:
    """Return all scorers that the caller may read."""
    caller = caller_of(by)
    rows = scoring.editor.collection(SCORER).list(by=caller).order_by("pk")
    agents = _agents(scoring.editor, {}, caller)
    versions = ((row.pk, row.active or row.latest) for row in rows)
    return [Registered(pk, version.config, agents.get(pk, ())) for pk, version in versions]


def find_registered(scoring: Verbs, scorer_id: str, *, by: Who = APPLICATION) -> Registered:
    """Return a scorer; raises `NotFound` if the caller may not read it."""
    caller = caller_of(by)
    config = scoring.editor.collection(SCORER).get(scorer_id, by=caller).version.config
    agents = _agents(scoring.editor, {"target_id": scorer_id}, caller)
    return Registered(scorer_id, config, agents.get(scorer_id, ()))


def _agents(
    editor: Editor, filters: Mapping[str, str], by: Caller
) -> Mapping[str, Sequence[tuple[str, str]]]:
    """Return the published agents by the scorers that they name; overrides do not count."""
    readable = editor.agent.list(by=by).exclude(pk__in=editor.code.agents).order_by()
    rows = ScorerReference.objects.filter(**filters, version__in=readable.values("active_version"))
    names = rows.order_by("version__resource_id").values_list(
        "target_id", "version__resource_id", F("version__name")
    )
    agents: dict[str, list[tuple[str, str]]] = {}
    for scorer_id, agent_id, name in names:
        agents.setdefault(scorer_id, []).append((agent_id, name))
    return agents


def try_out(
    scoring: Verbs, scorer_id: str, attempt: Attempt, *, version_id: str | None = None, by: Who = APPLICATION
) -> ScoreOutcome:
    """Return the outcome of a scorer's version, by default the latest, for an attempt. Nothing is stored.

    Raises `NotFound`, and `Forbidden` without the right to save drafts.
    """
    by = caller_of(by)
    scorers = scoring.editor.collection(SCORER)
    resource = scorers.find(scorer_id, by=by)
    by.require(Right.SAVE, resource.workspace_id)
    latest = str(resource.latest_version_id)
    config = scorers.version(scorer_id, version_id or latest, by=by).version.config
    instructions = judge_instructions(scoring.editor, config, by=by)
    give_back()
    return score(config, attempt, get_framework().scorers, instructions)


def judge_instructions(editor: Editor, scorer: Mapping[str, Any], *, by: Caller) -> str | None:
    """Return the published text of a judge's prompt block, or None without one.

    A block that is not published, or that the caller may not read, gives no text.
    """
    block_id = scorer.get("config", {}).get("promptBlock") if scorer["type"] == "llm-judge" else None
    if block_id is None:
        return None
    try:
        block = editor.collection(PROMPT_BLOCK).get(block_id, PUBLISHED, by=by).resource
    except NotFound:
        return ""
    by.require(Right.READ, block.workspace_id)
    return "" if block.active is None else str(block.active.config.get("content", ""))


class Scoring(Verbs):
    """The verbs for scoring answers and listing scorers."""

    try_out = try_out
    registered = list_registered
    registered_one = find_registered


class Dependent(NamedTuple):
    """A resource that names a scorer."""

    id: str
    name: str
    kind: str


Naming = Callable[[str, Caller], Iterable[Dependent]]
"""Returns the readable resources that name the scorer with this id."""
_registered: Final[list[Naming]] = []


def register_naming(naming: Naming) -> None:
    """Register a function that returns the resources that name a scorer."""
    require_callable(naming, by="capabilities.evaluation.scoring.verbs.register_naming()")
    _registered.append(naming)


def dependents_of_scorer(resource: VersionedResource, by: Caller) -> Iterator[Dependent]:
    """Yield the resources that name a resource, besides agents, if it is a scorer."""
    if resource.kind is SCORER:
        yield from iter_dependents(resource.id, by)


def iter_dependents(scorer_id: str, by: Caller) -> Iterator[Dependent]:
    """Yield the resources that name a scorer, besides agents."""
    for naming in _registered:
        yield from naming(scorer_id, by)
