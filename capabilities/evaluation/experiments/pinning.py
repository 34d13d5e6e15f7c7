"""What an experiment pins when it starts: the versions of its target and of its scorers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from editor_client.shared import canonical
from editor_client.shared.configurations import keys
from editor_client.shared.gates import target_digest

from capabilities.evaluation.datasets.models import Dataset
from capabilities.evaluation.experiments.models import Experiment, ExperimentScorer, TargetType
from capabilities.evaluation.scoring.kind import SCORER
from capabilities.evaluation.scoring.verbs import judge_instructions
from versioning.domain.access import Caller
from versioning.domain.agents import AGENT
from versioning.domain.errors import Invalid, Issue, Message, NotFound
from versioning.domain.locks import OWN_MEMBERS, SentLock
from versioning.domain.selectors import PUBLISHED, Selector
from versioning.editor import Editor

SELECTING: Final = ("selector", "lock", "release", "agentVersion", "versions")
"""The members that select the version of the target, of which a request has one."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """A target in one version, and the scorers that its agent names."""

    type: TargetType
    id: str = ""
    version_id: str = ""
    lock: Mapping[str, Any] | None = None
    provider: str = ""
    model: Mapping[str, Any] | None = None
    scorer_ids: Sequence[str] = ()
    config: Mapping[str, Any] | None = None
    instructions: str | None = None
    """The text of the prompt block that a judge names, or that of an agent as it is without a context."""

    def put_into(self, experiment: Experiment) -> None:
        """Pin it in the row of an experiment."""
        experiment.target_type, experiment.target_id = self.type, self.id
        experiment.version_id = self.version_id
        if self.lock is not None:
            experiment.lock_json = canonical.dump(self.lock)
            experiment.lock_digest = self.lock["digest"]
            experiment.target_digest = target_digest(self.lock)
        if self.type == TargetType.SCORER:
            experiment.lock_json = canonical.dump({"config": self.config, "instructions": self.instructions})
        experiment.provider = self.provider


def pinned_target(editor: Editor, given: Mapping[str, Any], by: Caller) -> Target:
    """Return the target that the members of a request name, in the version that they select.

    Raises `Invalid` for a target that is half given and for a version selected twice, `NotFound` and
    `Forbidden` for what the caller may not run.
    """
    target_type, target_id = given.get("targetType"), given.get("targetId")
    if (target_type is None) != (target_id is None):
        name = "targetId" if target_id is None else "targetType"
        raise Invalid.field(name, Message("is required: a target has a type and an id"))
    if target_type is None:
        extra = [name for name in SELECTING if name in given]
        if extra:
            raise Invalid([Issue(name, Message("is of use only with a target")) for name in extra])
        return Target(type=TargetType.NONE)
    selected = selected_version(given, str(target_id))
    if target_type == TargetType.SCORER:
        return _scorer(editor, str(target_id), selected, by)
    return _agent(editor, str(target_id), selected, by)


def selected_version(given: Mapping[str, Any], target_id: str) -> Selector | Mapping[str, Any]:
    """Return what a request selects of its target: by default what is published; or a lock."""
    named = [name for name in SELECTING if given.get(name)]
    if len(named) > 1:
        raise Invalid([Issue(name, Message("the version is selected more than once")) for name in named])
    if not named:
        return PUBLISHED
    [name] = named
    if name == "lock":
        lock: Mapping[str, Any] = given["lock"]
        return lock
    if name == "agentVersion":
        return Selector(version_id=given[name])
    if name == "release":
        return Selector.read({"release": given[name]}, "release")
    if name == "versions":
        agents = given[name].get("agents", {})
        if given[name].keys() - {"agents"} or agents.keys() - {target_id}:
            message = Message("only the target's own version can be selected here: send a lock for others")
            raise Invalid.field("versions", message)
        return Selector.read(agents[target_id], f"versions.agents.{target_id}") if agents else PUBLISHED
    return Selector.read(given[name], "selector")


def _agent(editor: Editor, agent_id: str, selected: Selector | Mapping[str, Any], by: Caller) -> Target:
    if isinstance(selected, Selector):
        lock: Mapping[str, Any] = editor.lock([agent_id], selector=selected, by=by)
    else:
        lock = selected
        if not lock.keys() >= OWN_MEMBERS:
            raise Invalid.field("lock", Message("is not a lock"))
        if agent_id not in editor.opened(SentLock.parse(lock, "lock")).agents:
            raise Invalid.field("lock", Message("does not hold the agent {id!r}", id=agent_id))
    sent = SentLock.parse(lock, "lock")
    opened = editor.opened(sent)
    served = editor.serve_locked(agent_id, opened, context={}, by=by, as_part=False, is_called=True)
    version_id = opened.agents[agent_id].version_id or ""
    return Target(
        type=TargetType.AGENT,
        id=agent_id,
        version_id=version_id,
        lock=lock,
        provider=str((served.model or {}).get("provider", "")),
        model=served.model,
        scorer_ids=_scorers_of_agent(editor, agent_id, version_id, by),
        instructions=served.instructions,
    )


def _scorers_of_agent(editor: Editor, agent_id: str, version_id: str, by: Caller) -> Sequence[str]:
    if not version_id:
        return ()
    version = editor.collection(AGENT).version(agent_id, version_id, by=by).version
    return [key for _, key in keys(version.config, "scorers")]


def _scorer(editor: Editor, scorer_id: str, selected: Selector | Mapping[str, Any], by: Caller) -> Target:
    if not isinstance(selected, Selector):
        raise Invalid.field("lock", Message("is for agents"))
    config, version_id = _scorer_version(editor, scorer_id, selected, by)
    model = config.get("model") or {}
    return Target(
        type=TargetType.SCORER,
        id=scorer_id,
        version_id=version_id,
        provider=str(model.get("provider", "")),
        model=model,
        config=config,
        instructions=judge_instructions(editor, config, by=by),
    )


def _scorer_version(
    editor: Editor, scorer_id: str, selector: Selector, by: Caller
) -> tuple[Mapping[str, Any], str]:
    """Return the configuration and the id of a version; of a scorer that is not published, the latest one."""
    found = editor.collection(SCORER).get(scorer_id, selector, by=by)
    version = found.version
    return version.config, version.version_id


def pinned_scorers(
    editor: Editor, given: Mapping[str, Any], dataset: Dataset, target: Target, by: Caller
) -> list[ExperimentScorer]:
    """Return the scorers of a new experiment, in the versions that are published now.

    They are those of the request, or those of the dataset, or those of the agent. Raises `Invalid` naming
    what does not exist for the caller.
    """
    if "scorerIds" in given and given["scorerIds"] is not None:
        named = given["scorerIds"]
        if named and target.type == TargetType.NONE:
            raise Invalid.field("scorerIds", Message("is of use only with a target"))
    else:
        named = dataset.settings.get("scorerIds")
        if named is None:
            named = [scorer_id for scorer_id in target.scorer_ids if _exists(editor, scorer_id, by)]
    found = pinned_scorers_named(editor, named, "scorerIds", by)
    ids = [one.scorer_id for one in found]
    primary = given.get("primaryScorer") or (ids[0] if ids else None)
    if primary is not None and primary not in ids:
        raise Invalid.field("primaryScorer", Message("is none of the scorers of this experiment"))
    for position, one in enumerate(found):
        one.position, one.is_primary = position, one.scorer_id == primary
    return found


def pinned_scorers_named(
    editor: Editor, named: Sequence[Any], place: str, by: Caller
) -> list[ExperimentScorer]:
    """Return scorers by their ids, or by ids with versions; raises `Invalid` below this place."""
    found = [_pinned(editor, one, f"{place}.{index}", by) for index, one in enumerate(named)]
    ids = [one.scorer_id for one in found]
    twice = next((index for index, one in enumerate(ids) if one in ids[:index]), None)
    if twice is not None:
        raise Invalid.field(f"{place}.{twice}", Message("is named more than once"))
    return found


def _exists(editor: Editor, scorer_id: str, by: Caller) -> bool:
    return bool(editor.collection(SCORER).list(by=by).filter(pk=scorer_id).exists())


def _pinned(editor: Editor, named: str | Mapping[str, str], place: str, by: Caller) -> ExperimentScorer:
    scorer_id = named if isinstance(named, str) else named["id"]
    version_id = None if isinstance(named, str) else named.get("versionId")
    selector = PUBLISHED if version_id is None else Selector(version_id=version_id)
    try:
        config, pinned_id = _scorer_version(editor, scorer_id, selector, by)
    except NotFound:
        raise Invalid.field(place, Message("does not exist, or you may not read it")) from None
    return ExperimentScorer(
        scorer_id=scorer_id,
        version_id=pinned_id,
        config_json=canonical.dump(config),
        instructions=judge_instructions(editor, config, by=by),
    )
