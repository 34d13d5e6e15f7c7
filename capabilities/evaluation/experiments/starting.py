"""Starting experiments, with everything pinned, and estimating their usage."""

from __future__ import annotations

import datetime
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Final
from uuid import uuid4

from django.conf import settings
from django.db import IntegrityError, connection, models
from django.db.models import Avg
from django.utils import timezone
from editor_client.shared import canonical, ids
from editor_client.shared.configurations import keys
from editor_client.shared.gates import target_digest

from capabilities.evaluation.datasets.models import Dataset, DatasetVersion, Revision
from capabilities.evaluation.datasets.verbs import find_dataset
from capabilities.evaluation.experiments.models import (
    MAX_CHOSEN_ID,
    Cell,
    CellState,
    Experiment,
    ExperimentScorer,
    TargetType,
    key_in,
)
from capabilities.evaluation.experiments.results import JUDGE, attempt_at, names_others
from capabilities.evaluation.scoring.kind import SCORER
from capabilities.evaluation.scoring.scoring import cannot_score, find_problem, to_text
from capabilities.evaluation.scoring.verbs import judge_instructions
from versioning.conf import get_editor, get_framework
from versioning.domain.access import APPLICATION, Caller, Right
from versioning.domain.agents import AGENT
from versioning.domain.errors import Conflict, Invalid, Issue, Message, NotFound
from versioning.domain.locks import OWN_MEMBERS, SentLock
from versioning.domain.provider_catalog import plus
from versioning.domain.selectors import PUBLISHED, Selector
from versioning.editor import Editor
from versioning.editor.locking import retry_on_conflict
from versioning.editor.resources import Who, caller_of
from versioning.models import events
from versioning.models.rules import validate
from versioning.runtime.observing import PricedModel, Prices
from versioning.verbs import Verbs

MAX_WORK: Final = 50_000
"""The maximum of items times attempts times (1 + scorers)."""
_NAMED: Final = ("experiment_id", "item_id", "revision_id", "attempt", "due_at", "created_at")


def add_cells(
    experiments: Sequence[Experiment], attempts: range, *, now: datetime.datetime, is_due: bool
) -> None:
    """Add a cell for each item and attempt; experiments of the same items run theirs one after the other.

    The items of an attempt are shuffled by the id of the first experiment, so that the order of the dataset
    and the time do not matter. Copying within the database takes a second for 50,000 cells.
    """
    first = experiments[0]
    stored_now = connection.ops.adapt_datetimefield_value(now)
    blank = Cell()
    constants = {
        str(field.column): field.get_db_prep_save(getattr(blank, field.attname), connection)
        for field in Cell._meta.concrete_fields
        if field.attname not in _NAMED and not isinstance(field, models.AutoField)
    }
    names = ", ".join(map(connection.ops.quote_name, [*_NAMED, *constants]))
    cells, revisions, all_experiments = (
        connection.ops.quote_name(model._meta.db_table) for model in (Cell, Revision, Experiment)
    )
    marks = ", ".join(["%s"] * len(constants))
    ids = ", ".join(["%s"] * len(experiments))
    # Only names of tables and columns are inserted into the text.
    statement = (
        f"INSERT INTO {cells} ({names})"  # noqa: S608
        f" SELECT e.id, r.item_id, r.id, CAST(%s AS integer), {_cast('due_at')}, {_cast('created_at')},"
        f" {marks}"
        f" FROM {revisions} r CROSS JOIN {all_experiments} e"
        f" WHERE e.id IN ({ids}) AND r.dataset_id = %s AND NOT r.is_deleted AND r.version <= %s"
        " AND (r.until IS NULL OR r.until > %s)"
        " ORDER BY MD5(%s || CAST(r.item_id AS text)), e.id <> %s"
    )
    dataset = Revision._meta.get_field("dataset").get_db_prep_value(first.dataset_id, connection)
    with connection.cursor() as cursor:
        for attempt in attempts:
            cursor.execute(
                statement,
                [
                    *[attempt, stored_now if is_due else None, stored_now],
                    *constants.values(),
                    *[experiment.pk for experiment in experiments],
                    *[dataset, first.dataset_version, first.dataset_version],
                    *[f"{first.pk}\n{attempt}\n", first.pk],
                ],
            )


def _cast(name: str) -> str:
    field: Any = Cell._meta.get_field(name)
    return f"CAST(%s AS {field.db_type(connection)})" if connection.vendor == "postgresql" else "%s"


SELECTING: Final = ("selector", "lock", "release", "agentVersion", "versions")
"""The members that select the version of the target; a request has one of them."""


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
    """The text of a judge's prompt block, or of an agent without a context."""


def pin_target(editor: Editor, fields: Mapping[str, Any], by: Caller) -> Target:
    """Return the target that the members of a request name, in the version that they select.

    Raises `Invalid` for an incomplete target and for a version selected twice, `NotFound` and `Forbidden` for
    a target that the caller may not run.
    """
    target_type, target_id = fields.get("targetType"), fields.get("targetId")
    if (target_type is None) != (target_id is None):
        name = "targetId" if target_id is None else "targetType"
        raise Invalid.field(name, Message("is required: a target has a type and an id"))
    if target_type is None:
        extra = [name for name in SELECTING if name in fields]
        if extra:
            raise Invalid([Issue(name, Message("is of use only with a target")) for name in extra])
        return Target(type=TargetType.NONE)
    selected = select_version(fields, str(target_id))
    if target_type == TargetType.SCORER:
        return _scorer(editor, str(target_id), selected, by)
    return _agent(editor, str(target_id), selected, by)


def select_version(fields: Mapping[str, Any], target_id: str) -> Selector | Mapping[str, Any]:
    """Return the selected version of the target, by default the published one; or a lock."""
    selectors = [name for name in SELECTING if fields.get(name)]
    if len(selectors) > 1:
        raise Invalid([Issue(name, Message("the version is selected more than once")) for name in selectors])
    if not selectors:
        return PUBLISHED
    [name] = selectors
    if name == "lock":
        lock: Mapping[str, Any] = fields["lock"]
        return lock
    if name == "agentVersion":
        return Selector(version_id=fields[name])
    if name == "release":
        return Selector.read({"release": fields[name]}, "release")
    if name == "versions":
        agents = fields[name].get("agents", {})
        if fields[name].keys() - {"agents"} or agents.keys() - {target_id}:
            message = Message("only the target's own version can be selected here: send a lock for others")
            raise Invalid.field("versions", message)
        return Selector.read(agents[target_id], f"versions.agents.{target_id}") if agents else PUBLISHED
    return Selector.read(fields[name], "selector")


def _agent(editor: Editor, agent_id: str, selected: Selector | Mapping[str, Any], by: Caller) -> Target:
    if isinstance(selected, Selector):
        lock: Mapping[str, Any] = editor.lock([agent_id], selector=selected, by=by)
    else:
        lock = selected
        if not lock.keys() >= OWN_MEMBERS:
            raise Invalid.field("lock", Message("is not a lock"))
        if agent_id not in editor.open_lock(SentLock.parse(lock, "lock")).agents:
            raise Invalid.field("lock", Message("does not contain the agent {id!r}", id=agent_id))
    sent_lock = SentLock.parse(lock, "lock")
    opened = editor.open_lock(sent_lock)
    agent = editor.serve_locked(agent_id, opened, context={}, by=by, as_part=False, is_called=True)
    version_id = opened.agents[agent_id].version_id or ""
    scorer_ids: Sequence[str] = ()
    if version_id:
        version = editor.collection(AGENT).version(agent_id, version_id, by=by).version
        scorer_ids = [key for _, key in keys(version.config, "scorers")]
    return Target(
        type=TargetType.AGENT,
        id=agent_id,
        version_id=version_id,
        lock=lock,
        provider=str((agent.model or {}).get("provider", "")),
        model=agent.model,
        scorer_ids=scorer_ids,
        instructions=agent.instructions,
    )


def _scorer(editor: Editor, scorer_id: str, selected: Selector | Mapping[str, Any], by: Caller) -> Target:
    if not isinstance(selected, Selector):
        raise Invalid.field("lock", Message("is for agents"))
    version = editor.collection(SCORER).get(scorer_id, selected, by=by).version
    config: Mapping[str, Any] = version.config
    model = config.get("model") or {}
    return Target(
        type=TargetType.SCORER,
        id=scorer_id,
        version_id=version.version_id,
        provider=str(model.get("provider", "")),
        model=model,
        config=config,
        instructions=judge_instructions(editor, config, by=by),
    )


def pin_scorers(
    editor: Editor, fields: Mapping[str, Any], dataset: Dataset, target: Target, by: Caller
) -> list[ExperimentScorer]:
    """Return the scorers of a new experiment, in the versions that are published now.

    They are those of the request, or else of the dataset, or else of the agent. Raises `Invalid` naming
    scorers that do not exist for the caller.
    """
    if "scorerIds" in fields and fields["scorerIds"] is not None:
        scorer_ids = fields["scorerIds"]
        if scorer_ids and target.type == TargetType.NONE:
            raise Invalid.field("scorerIds", Message("is of use only with a target"))
    else:
        scorer_ids = dataset.settings.get("scorerIds")
        if scorer_ids is None:
            readable = editor.collection(SCORER).list(by=by)
            scorer_ids = [key for key in target.scorer_ids if readable.filter(pk=key).exists()]
    scorers = pin_named_scorers(editor, scorer_ids, "scorerIds", by)
    ids = [scorer.scorer_id for scorer in scorers]
    primary = fields.get("primaryScorer") or (ids[0] if ids else None)
    if primary is not None and primary not in ids:
        raise Invalid.field("primaryScorer", Message("is not one of the scorers of this experiment"))
    for position, scorer in enumerate(scorers):
        scorer.position, scorer.is_primary = position, scorer.scorer_id == primary
    return scorers


def pin_named_scorers(
    editor: Editor, scorer_ids: Sequence[Any], place: str, by: Caller
) -> list[ExperimentScorer]:
    """Return scorers by their ids, or by ids with versions; raises `Invalid` below this place."""
    scorers: list[ExperimentScorer] = []
    for index, name in enumerate(scorer_ids):
        scorer_id, version_id = (name, None) if isinstance(name, str) else (name["id"], name.get("versionId"))
        selector = PUBLISHED if version_id is None else Selector(version_id=version_id)
        try:
            version = editor.collection(SCORER).get(scorer_id, selector, by=by).version
        except NotFound:
            message = Message("does not exist, or you may not read it")
            raise Invalid.field(f"{place}.{index}", message) from None
        scorers.append(
            ExperimentScorer(
                scorer_id=scorer_id,
                version_id=version.version_id,
                config_json=canonical.dump(version.config),
                instructions=judge_instructions(editor, version.config, by=by),
            )
        )
    ids = [scorer.scorer_id for scorer in scorers]
    for index, scorer_id in enumerate(ids):
        if scorer_id in ids[:index]:
            raise Invalid.field(f"{place}.{index}", Message("is named more than once"))
    return scorers


SETTINGS: Final = (
    *("description", "metadata", "provenance", "runnerAttestation"),
    *("requestContext", "limits", "unmockedToolPolicy", "maxConcurrency"),
)
"""The members that are stored as sent."""
PUBLISHED_BASELINE: Final = "published"
_TAKEN: Final = ("review-summary",)
"""Words that cannot be ids of experiments, because addresses use them."""


@dataclass(frozen=True, kw_only=True)
class Started:
    """An experiment, and whether it is new."""

    experiment: Experiment
    is_new: bool = True


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A checked request for an experiment that is not stored yet."""

    dataset: Dataset
    version: DatasetVersion
    target: Target
    scorers: Sequence[ExperimentScorer]
    items: int
    baseline: Target | Experiment | None


@retry_on_conflict
def start(
    experiments: Verbs, dataset_id: str, fields: Mapping[str, Any], *, by: Who = APPLICATION
) -> Started:
    """Start an experiment over a dataset, and its `baseline` unless that is an existing experiment.

    `fields` are the members of the request. Raises `NotFound`, `Forbidden` without the right to save,
    `Invalid`, and `Conflict` for an id that another experiment has.
    """
    caller = caller_of(by)
    try:
        return _start_once(experiments, dataset_id, fields, caller)
    except IntegrityError:  # another request has taken the id meanwhile
        return _start_once(experiments, dataset_id, fields, caller)


def _start_once(experiments: Verbs, dataset_id: str, fields: Mapping[str, Any], caller: Caller) -> Started:
    existing = known_by_id(dataset_id, fields, caller)
    if existing is not None:
        return Started(experiment=existing, is_new=False)
    plan = plan_experiment(experiments, dataset_id, fields, by=caller)
    with events.transaction():
        experiment = _store_experiment(plan, fields, caller)
        experiment.record("started", caller, datasetId=str(plan.dataset.pk), cells=experiment.cells_count)
    return Started(experiment=experiment)


def plan_experiment(
    experiments: Verbs, dataset_id: str, fields: Mapping[str, Any], *, by: Who = APPLICATION
) -> Plan:
    """Check a request for an experiment, and pin everything; raises as `start` does."""
    caller, editor = caller_of(by), experiments.editor
    dataset = find_dataset(dataset_id, by=caller, right=Right.SAVE)
    version = dataset_version(dataset, fields.get("version"))
    items = Revision.objects.of_version(dataset, version.version).count()
    if not items:
        raise Invalid.field("datasetId", Message("has no items in this version"), code="no_items")
    target = pin_target(editor, fields, caller)
    if target.type == TargetType.NONE and fields.get("start", True):
        message = Message("is required; without a target, send start: false and the results")
        raise Invalid.field("targetType", message)
    scorers = pin_scorers(editor, fields, dataset, target, caller)
    refuse_too_much(items, fields.get("attempts", 1), len(scorers))
    baseline = _baseline(experiments, fields, dataset, target, caller)
    return Plan(
        dataset=dataset, version=version, target=target, scorers=scorers, items=items, baseline=baseline
    )


def refuse_too_much(items: int, attempts: int, scorers: int) -> None:
    """Raise `Invalid` for more work than an experiment allows."""
    if items * attempts * (1 + scorers) > MAX_WORK:
        message = Message(
            "is too much: items times attempts times (1 + scorers) is at most {limit}", limit=MAX_WORK
        )
        raise Invalid.field("attempts", message, code="too_many_cells")


def dataset_version(dataset: Dataset, number: int | None) -> DatasetVersion:
    """Return a version of a dataset, by default the current one; raises `Invalid`."""
    version_number = dataset.version if number is None else number
    version = DatasetVersion.objects.filter(dataset=dataset, version=version_number).first()
    if version is None:
        message = Message("the dataset has no items yet") if number is None else Message("does not exist")
        raise Invalid.field("datasetId" if number is None else "version", message, code="no_items")
    return version


def known_by_id(dataset_id: str, fields: Mapping[str, Any], by: Caller) -> Experiment | None:
    """Return the existing experiment with the id of a request, if it is the same.

    Ids are unique in a dataset, and among the experiments that the caller may read. Raises `Conflict` if
    another experiment has it.
    """
    if "id" not in fields:
        return None
    if fields.get("start", True):
        raise Invalid.field("id", Message("can be chosen only with start: false"))
    problem = ids.problem(fields["id"], _TAKEN)
    if problem is None and "/" in fields["id"]:
        problem = Message("must not contain a slash")
    if problem is None and len(ids.encode(fields["id"])) > MAX_CHOSEN_ID:
        problem = Message("must have 1 to {limit} bytes once percent-encoded", limit=MAX_CHOSEN_ID)
    if problem is not None:
        raise Invalid.field("id", problem)
    dataset = find_dataset(dataset_id, by=by, right=Right.SAVE)
    experiment = Experiment.objects.in_dataset(dataset.pk, fields["id"]).first()
    if experiment is None and not Experiment.objects.readable_by(by).keys_of(fields["id"]):
        return None  # unreadable experiments do not count
    same = (
        experiment is not None
        and Experiment.objects.readable_by(by).filter(pk=experiment.pk).exists()
        and experiment.target_type == fields.get("targetType", "")
        and experiment.target_id == fields.get("targetId", "")
    )
    if not same:
        raise Conflict(Message("There is another experiment with this id."), code="id_taken")
    return experiment


def _baseline(
    experiments: Verbs, fields: Mapping[str, Any], dataset: Dataset, target: Target, by: Caller
) -> Target | Experiment | None:
    baseline = fields.get("baseline")
    if baseline is None:
        return None
    experiment = Experiment.objects.readable_by(by).in_dataset(dataset.pk, baseline).first()
    if experiment is not None:
        return experiment
    if target.type == TargetType.NONE:
        raise Invalid.field("baseline", Message("must be an experiment of this dataset"))
    target_fields = {name: fields[name] for name in ("targetType", "targetId")}
    if baseline != PUBLISHED_BASELINE:
        target_fields["selector"] = {"versionId": baseline}
    try:
        return pin_target(experiments.editor, target_fields, by)
    except NotFound:
        message = Message("must be 'published', a version of the target, or an experiment of this dataset")
        raise Invalid.field("baseline", message) from None


def _store_experiment(plan: Plan, fields: Mapping[str, Any], by: Caller) -> Experiment:
    candidate = _row(plan, fields, plan.target, by)
    candidate.pk = fields.get("id") or str(uuid4())
    same_id = Experiment.objects.filter(pk=candidate.pk).only("dataset").first()
    if same_id is not None and same_id.dataset_id == plan.dataset.pk:
        raise IntegrityError
    if same_id is not None:
        candidate.pk = key_in(plan.dataset.pk, candidate.pk)
    candidate.queue_id = candidate.pk
    experiments = [candidate]
    if isinstance(plan.baseline, Experiment):
        candidate.pair_of = plan.baseline
    elif plan.baseline is not None:
        baseline = _row(plan, fields, plan.baseline, by)
        baseline.pk, baseline.queue_id = str(uuid4()), candidate.pk
        baseline.save(force_insert=True)
        candidate.pair_of = baseline
        experiments.append(baseline)
    candidate.save(force_insert=True)
    names = ("scorer_id", "version_id", "config_json", "instructions", "is_primary", "position")
    for experiment in experiments:
        ExperimentScorer.objects.bulk_create(
            ExperimentScorer(experiment=experiment, **{name: getattr(scorer, name) for name in names})
            for scorer in plan.scorers
        )
    add_cells(experiments, range(candidate.attempts), now=candidate.created_at, is_due=candidate.is_started)
    return candidate


def _row(plan: Plan, fields: Mapping[str, Any], target: Target, by: Caller) -> Experiment:
    grouping, attempts = fields.get("grouping", {}), fields.get("attempts", 1)
    now = timezone.now()
    row = Experiment(
        target_type=target.type,
        target_id=target.id,
        version_id=target.version_id,
        provider=target.provider,
        workspace_id=plan.dataset.workspace_id,
        dataset=plan.dataset,
        dataset_version=plan.version.version,
        dataset_digest=plan.version.digest,
        is_started=fields.get("start", True),
        attempts=attempts,
        name=fields.get("name") or "",
        settings_json=canonical.dump(
            {name: fields[name] for name in SETTINGS if fields.get(name) is not None}
        ),
        experiment_set_id=grouping.get("experimentSetId", ""),
        comparison_id=grouping.get("comparisonId", ""),
        variant_id=grouping.get("variantId", ""),
        trial_index=grouping.get("trialIndex"),
        items_count=plan.items,
        cells_count=plan.items * attempts,
        author_id=by.user_id,
        author_name=by.username or "",
        key_prefix=by.key_prefix or "",
        created_at=now,
        updated_at=now,
        started_at=None if fields.get("start", True) else now,
    )
    validate(row, ["name"])
    if target.lock is not None:
        row.lock_json, row.lock_digest = canonical.dump(target.lock), target.lock["digest"]
        row.target_digest = target_digest(target.lock)
    if target.type == TargetType.SCORER:
        row.lock_json = canonical.dump({"config": target.config, "instructions": target.instructions})
    return row


CHARACTERS: Final = 4
"""The approximate number of characters of a token."""
VERDICT_TOKENS: Final = 60
"""The approximate number of tokens in the answer of a judge: a reason and a label."""
_AT_ONCE: Final = 50
_RUNS: Final = 5
"""The number of recent experiments used to estimate the length and duration of answers."""


@dataclass(frozen=True)
class PlanProblem:
    """A problem that does not prevent an experiment but affects it."""

    code: str
    message: str
    scorer_id: str | None = None


@dataclass(kw_only=True)
class Estimate:
    """Estimated calls, tokens and cost of an experiment, including a new baseline."""

    cells: int
    not_scorable: dict[str, int]
    """The number of items that a scorer cannot score for any answer, by scorer."""
    problems: Sequence[PlanProblem]
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float | None = None
    """The seconds for one worker; None if the target has not answered an item of the dataset yet."""
    cost: Decimal | None = Decimal(0)
    """In US dollars; None if the price of a model is unknown."""


def estimate(
    experiments: Verbs, dataset_id: str, fields: Mapping[str, Any], *, by: Who = APPLICATION
) -> Estimate:
    """Return the estimate for an experiment of these members; raises as `start` does.

    Tokens are estimated from the length of the texts. Those of answers come from the target's earlier answers
    to items of the dataset or, without any, from the ground truths.
    """
    known_by_id(dataset_id, fields, caller_of(by))
    return estimate_plan(plan_experiment(experiments, dataset_id, fields, by=by), fields.get("attempts", 1))


def estimate_plan(plan: Plan, attempts: int, *, sample: int | None = None) -> Estimate:
    """Return the estimate for a planned experiment.

    With a `sample` only this many items are read; their tokens are extrapolated, while `not_scorable` counts
    only these items.
    """
    runs = 1 if plan.baseline is None or isinstance(plan.baseline, Experiment) else 2
    cells = plan.items * attempts * runs
    problems = []
    for scorer in plan.scorers:
        problem = find_problem(scorer.config, get_framework().scorers, scorer.instructions)
        judge, judged = scorer.config.get("model") or {}, plan.target.model
        if problem is not None:
            problems.append(PlanProblem(problem.code, problem.message, scorer.scorer_id))
        elif (
            scorer.config["type"] == JUDGE
            and judged
            and all(judge.get(name) == judged.get(name) for name in ("provider", "name"))
        ):
            message = "The judge is the model that it judges."
            problems.append(PlanProblem("self_judge", message, scorer.scorer_id))
    result = Estimate(
        cells=cells,
        not_scorable=dict.fromkeys((scorer.scorer_id for scorer in plan.scorers), 0),
        problems=problems,
    )
    # The mean length and duration of the target's earlier answers; None without any.
    runs_before = Experiment.objects.filter(
        dataset=plan.dataset, target_type=plan.target.type, target_id=plan.target.id
    ).order_by("-created_at", "pk")
    newest = list(runs_before.values_list("pk", flat=True)[:_RUNS])
    answers = Cell.objects.filter(experiment__in=newest, state=CellState.DONE, output_tokens__gt=0)
    usual = answers.aggregate(tokens=Avg("output_tokens"), milliseconds=Avg("milliseconds"))
    characters: defaultdict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    read = plan.items if sample is None else min(sample, plan.items)
    rows = Revision.objects.of_version(plan.dataset, plan.version.version).order_by("pk")
    for revision in rows[:read].iterator(chunk_size=_AT_ONCE):
        cell = Cell(revision=revision)
        judges = [scorer for scorer in _able(plan.scorers, cell, result) if scorer.config["type"] == JUDGE]
        if plan.target.type != TargetType.NONE:
            _add_characters(characters, plan, cell, judges, usual["tokens"])
    editor = get_editor()
    catalog, prices = editor.providers(), Prices(editor.prices())
    for (provider, name), counts in characters.items():
        tokens = [round(number * cells / read / CHARACTERS) for number in counts]
        result.input_tokens += tokens[0]
        result.output_tokens += tokens[1]
        model = PricedModel.of({"provider": provider, "name": name}, catalog)
        result.cost = plus(result.cost, prices.of_tokens(model, *tokens))
    if usual["milliseconds"] is not None:
        result.seconds = usual["milliseconds"] * cells / settings.EDITOR_EVALUATION_CONCURRENCY / 1000
    return result


def _able(scorers: Sequence[ExperimentScorer], cell: Cell, result: Estimate) -> Iterator[ExperimentScorer]:
    """Yield the scorers that can score some answer to an item, and count the item for the others."""
    attempt = replace(attempt_at(cell, ""), tool_calls=(), tokens=0)
    for scorer in scorers:
        if names_others(cell, scorer) or cannot_score(scorer.config, attempt):
            result.not_scorable[scorer.scorer_id] += 1
        else:
            yield scorer


def _add_characters(
    characters: Mapping[tuple[str, str], list[int]],
    plan: Plan,
    cell: Cell,
    judges: Sequence[ExperimentScorer],
    usual: float | None,
) -> None:
    """Add the characters of an item in one attempt, by provider and model: of requests and of answers."""
    input_length, truth = len(to_text(cell.member("input"))), cell.member("groundTruth")
    expected = 0 if truth is None else len(to_text(truth))
    answer_length = round(expected if usual is None else usual * CHARACTERS)
    is_agent, config = plan.target.type == TargetType.AGENT, plan.target.config or {}
    if is_agent or config.get("type") == JUDGE:
        _add(
            characters,
            plan.target.model if is_agent else config.get("model"),
            len(plan.target.instructions or "") + input_length,
            answer_length,
        )
    for judge in judges:
        rubric = judge.config.get("instructions", "") if judge.instructions is None else judge.instructions
        request_length = len(rubric) + input_length + answer_length + expected
        _add(characters, judge.config.get("model"), request_length, VERDICT_TOKENS * CHARACTERS)


def _add(
    characters: Mapping[tuple[str, str], list[int]],
    model: Mapping[str, Any] | None,
    request_length: int,
    answer_length: int,
) -> None:
    model_fields = model or {}
    numbers = characters[str(model_fields.get("provider", "")), str(model_fields.get("name", ""))]
    numbers[0] += request_length
    numbers[1] += answer_length
