"""Create, read, change and delete datasets; `changing_items` changes what is in them.

Every function takes the caller as `by`, and raises `NotFound` if the caller may not read the drafts of the
workspace, `Forbidden` without the right to save.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import F, QuerySet, Value
from django.db.models.deletion import RestrictedError
from django.utils import timezone
from editor_client.shared import canonical
from editor_client.shared.dataset_items import composed_name, name_problem

from capabilities.evaluation.datasets.digests import EMPTY
from capabilities.evaluation.datasets.items import SCHEMAS, refuse_by_schemas, schema_problems
from capabilities.evaluation.datasets.models import Dataset, DatasetQuerySet, Revision
from capabilities.evaluation.scoring.kind import SCORER
from capabilities.evaluation.scoring.naming import Dependent
from versioning.domain.access import APPLICATION, Caller, Right
from versioning.domain.errors import Conflict, InUse, Invalid, Issue, Message, NotFound
from versioning.domain.registering import require_callable
from versioning.domain.uuids import parse_uuid
from versioning.editor import Editor
from versioning.editor.locking import retry_on_conflict
from versioning.editor.resources import Who, caller_of
from versioning.editor.saving import workspace_for
from versioning.models import events
from versioning.models.text_keys import ByName, contains
from versioning.verbs import Verbs


class Use(StrEnum):
    """How something rests on a dataset, so that only who may publish changes it."""

    FOLLOWED = "followed"
    """It counts what the dataset is at the moment."""
    PINNED = "pinned"
    """It counts one version of it."""


Using = Callable[[UUID], Collection[Use]]
"""Returns how something rests on the dataset with this id."""
_using: Final[list[Using]] = []


def register_using(using: Using) -> None:
    """Let datasets be changed by those who may publish alone, while something rests on them."""
    require_callable(using, by="capabilities.evaluation.datasets.editing.register_using()")
    _using.append(using)


def uses_of(dataset: Dataset) -> set[Use]:
    """Return how something, such as a gate, rests on a dataset."""
    return {use for using in _using for use in using(dataset.pk)}


def right_to_change(dataset: Dataset) -> Right:
    """Return the right that changes of a dataset and of its items take."""
    return Right.PUBLISH if Use.FOLLOWED in uses_of(dataset) else Right.SAVE


def require_publish_for_purge(dataset: Dataset, by: Caller) -> None:
    """Raise `Forbidden` unless the caller may remove content of a dataset from all its versions."""
    if uses_of(dataset):
        by.require_publish(dataset.workspace_id)


SETTINGS = ("description", "metadata", "tags", "targetType", "targetIds", "scorerIds", *SCHEMAS)
"""The members that callers set, besides the name."""
_ATTEMPTS: Final = 3
_P = ParamSpec("_P")
_T = TypeVar("_T")


class CheckedInVain(Exception):
    """The dataset has changed between the checks of a verb and its lock, so that they say nothing."""


def checking_first(verb: Callable[_P, _T]) -> Callable[_P, _T]:
    """Decorate a verb that checks before it locks: checks take long, and a transaction that writes holds all.

    Where they were in vain, it is called again; in the end it raises `Conflict`.
    """

    @wraps(verb)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        for _ in range(_ATTEMPTS):
            with suppress(CheckedInVain):
                return verb(*args, **kwargs)
        raise Conflict(Message("This dataset is changing; try again."), code="dataset_changed")

    return call


def refuse_other_schemas(dataset: Dataset, checked: Mapping[str, Any]) -> None:
    """Raise `CheckedInVain` unless a dataset still has the schemas of the settings that checks went by."""
    if not all(canonical.same(checked.get(name), dataset.settings.get(name)) for name in SCHEMAS):
        raise CheckedInVain


def list_readable(
    *,
    workspace: str | None = None,
    target_type: str | None = None,
    target_ids: Sequence[str] = (),
    by: Who = APPLICATION,
) -> QuerySet[Dataset]:
    """Return the datasets that the caller may read, for any of these targets."""
    found = Dataset.objects.readable_by(caller_of(by))
    if workspace is not None:
        found = found.filter(workspace=workspace)
    if target_type is not None:
        found = found.filter(target_type=target_type)
    if target_ids:
        either = Dataset.objects.none()
        for target_id in target_ids:
            either |= Dataset.objects.filter(contains(F("target_keys"), Value(f"\n{target_id}\n")))
        found = found.filter(pk__in=either.order_by().values("pk"))
    return found


def naming(scorer_id: str, by: Caller) -> Iterator[Dependent]:
    """Yield the datasets whose items a scorer scores by default."""
    text = canonical.dump(scorer_id)
    naming_it = Dataset.objects.readable_by(by).filter(contains(F("settings_json"), Value(text)))
    for one in naming_it.order_by(ByName("name"), "pk"):
        if scorer_id in one.settings.get("scorerIds", ()):
            yield Dependent(str(one.pk), one.name, "dataset")


def find(dataset_id: str, *, by: Who = APPLICATION, right: Right = Right.READ_DRAFTS) -> Dataset:
    """Return a dataset to a caller who has the right in its workspace."""
    return _found(Dataset.objects.all(), dataset_id, caller_of(by), right)


def _found(rows: DatasetQuerySet, dataset_id: str, by: Caller, right: Right) -> Dataset:
    found = rows.readable_by(by).filter(pk=parse_uuid(dataset_id)).first()
    if found is None:
        raise NotFound
    by.require(right, found.workspace_id)
    return found


@retry_on_conflict
def create(
    datasets: Verbs,
    settings: Mapping[str, Any],
    *,
    name: str,
    workspace: str | None = None,
    by: Who = APPLICATION,
) -> Dataset:
    """Create an empty dataset; the workspace defaults to the caller's only one."""
    caller = caller_of(by)
    workspace_id = workspace_for(caller, workspace)
    dataset = Dataset(workspace_id=workspace_id, digest=EMPTY, author_id=caller.user_id)
    _set(datasets, dataset, {**settings, "name": name}, caller)
    with events.transaction():
        _save(dataset, insert=True)
        dataset.record("created", caller)
    return dataset


@retry_on_conflict
@checking_first
def change(datasets: Verbs, dataset_id: str, changes: Mapping[str, Any], *, by: Who = APPLICATION) -> Dataset:
    """Change the members that are given; null clears one. A new schema has to fit the present items."""
    caller = caller_of(by)
    fitting = find(dataset_id, by=caller, right=Right.SAVE)
    new_schemas = _new_schemas(fitting, changes)
    if new_schemas:
        _refuse_unfitting(fitting, changes, new_schemas)
    with changing(dataset_id, caller) as dataset:
        unchecked = set(_new_schemas(dataset, changes)) - set(new_schemas)
        if unchecked or (new_schemas and dataset.digest != fitting.digest):
            raise CheckedInVain
        before = {"name": dataset.name, **dataset.settings}
        _set(datasets, dataset, changes, caller)
        after = {"name": dataset.name, **dataset.settings}
        names = [
            name for name in ("name", *SETTINGS) if not canonical.same(before.get(name), after.get(name))
        ]
        if names:
            _save(dataset)
            dataset.record("updated", caller, fields=names)
        return dataset


def _new_schemas(dataset: Dataset, changes: Mapping[str, Any]) -> list[str]:
    """Return the names of the schemas that the changes make other ones; none that cannot be used."""
    if any(schema_problems(changes)):
        return []
    return [
        name
        for name in SCHEMAS
        if changes.get(name) is not None and not canonical.same(changes[name], dataset.settings.get(name))
    ]


def _refuse_unfitting(dataset: Dataset, changes: Mapping[str, Any], names: Sequence[str]) -> None:
    """Raise `SchemaRefusal` unless the present items fit the new schemas of these names."""
    payloads = [one.payload for one in Revision.objects.of_version(dataset).order_by("pk").iterator()]
    places = [f"items.{n}." for n in range(len(payloads))]
    refuse_by_schemas({name: changes[name] for name in names}, payloads, places, names)


@retry_on_conflict
def delete(dataset_id: str, *, by: Who = APPLICATION) -> None:
    """Delete a dataset with its items; raises `InUse` while something rests on it, such as a gate."""
    caller = caller_of(by)
    with changing(dataset_id, caller) as dataset:
        dataset.record("deleted", caller)
        try:
            dataset.delete()
        except RestrictedError as error:
            resting = [
                {"id": str(one.pk), "name": str(one), "kind": str(one._meta.model_name)}
                for one in error.restricted_objects
            ]
            hidden = resting if caller.id_prefix else []  # a key that is limited to ids learns of no others
            told = [one for one in resting if one not in hidden]
            names = ", ".join(one["name"] for one in told) or "…"
            message = Message("The dataset is in use: {names}.", names=names)
            raise InUse(message, dependents=told, hidden_count=len(hidden)) from None


@contextmanager
def changing(dataset_id: str, by: Caller) -> Iterator[Dataset]:
    """Lock a dataset for a transaction; the caller may save in its workspace.

    Where a gate follows the dataset, the caller may publish there: the dataset decides what goes live.
    """
    with events.transaction():
        found = _found(Dataset.objects.locked(), dataset_id, by, Right.SAVE)
        if right_to_change(found) is Right.PUBLISH:
            by.require_publish(found.workspace_id)
        yield found


def _set(datasets: Verbs, dataset: Dataset, changes: Mapping[str, Any], by: Caller) -> None:
    """Set the members; raises `Invalid`."""
    if "name" in changes:
        name = composed_name(changes["name"])
        if problem := name_problem(name):
            raise Invalid.field("name", problem)
        dataset.name = name
    given = {name: value for name, value in changes.items() if name in SETTINGS}
    settings = {name: value for name, value in {**dataset.settings, **given}.items() if value is not None}
    issues = [*schema_problems(given), *unknown_scorers(datasets.editor, given.get("scorerIds") or (), by)]
    if ("targetIds" in settings) and "targetType" not in settings:
        issues.append(Issue("targetType", Message("is required, if targetIds is given")))
    if issues:
        raise Invalid(issues)
    for target_id in settings.get("targetIds") or [""]:  # without targets, it would be about all ids
        by.require_covered(target_id)
    dataset.settings_json = canonical.dump(settings)
    dataset.__dict__.pop("settings", None)
    dataset.target_type = settings.get("targetType", "")
    dataset.target_keys = "".join(f"\n{target_id}\n" for target_id in settings.get("targetIds", ()))


def unknown_scorers(editor: Editor, ids: Sequence[str], by: Caller) -> Iterator[Issue]:
    """Yield an issue for each scorer that does not exist for the caller."""
    known = set(editor.collection(SCORER).list(by=by).filter(pk__in=ids).values_list("pk", flat=True))
    for place, scorer_id in enumerate(ids):
        if scorer_id not in known:
            yield Issue(f"scorerIds.{place}", Message("does not exist, or you may not read it"))


def _save(dataset: Dataset, *, insert: bool = False) -> None:
    """Save a dataset; raises `Conflict` if its name is taken."""
    dataset.updated_at = timezone.now()
    try:
        with transaction.atomic():
            dataset.save(force_insert=insert)
    except IntegrityError:
        taken = Dataset.objects.filter(workspace=dataset.workspace_id, name=dataset.name)
        if taken.exclude(pk=dataset.pk).exists():
            message = Message("There is a dataset {name!r} in this workspace.", name=dataset.name)
            raise Conflict(message, code="name_taken") from None
        raise
