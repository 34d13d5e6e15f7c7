"""Database constraints: every named constraint of these applications is violated once, without the editor."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from django.apps import apps
from django.contrib.auth import get_user_model
from django.db import IntegrityError, connection, transaction
from django.db.models import BaseConstraint, CheckConstraint, Model, QuerySet, UniqueConstraint

from capabilities.accounts.models import Identity, Kind, SecondFactor
from capabilities.evaluation.datasets.models import Dataset, DatasetVersion, Item, Revision
from capabilities.evaluation.experiments.models import Cell, ExperimentScorer, Label, Score
from capabilities.evaluation.scoring.models import Scorer, ScorerLabel, ScorerReference, ScorerVersion
from capabilities.mail.models import Mail, MailKind
from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, SCORERS, Api
from tests.support.experiments import make_experiment, submit
from versioning.conf import get_editor
from versioning.domain.access import Role
from versioning.models import (
    Agent,
    AgentLabel,
    AgentVersion,
    ApiKey,
    BlockReference,
    Event,
    Favorite,
    IdempotentRequest,
    Invitation,
    Membership,
    PromptBlock,
    PromptBlockLabel,
    PromptBlockVersion,
    SubAgentReference,
    Workspace,
)

pytestmark = pytest.mark.database

APPLICATIONS = ("versioning", "company", "evaluation", "mail")

Resource = type[Agent] | type[PromptBlock] | type[Scorer]
Breach = Callable[[], object]


# How each constraint is broken. Nothing here goes through `save`, `full_clean` or the editor.


def insert_copies(rows: QuerySet[Any], **changes: Any) -> None:
    """Insert the rows once more, under other keys unless the changes name one."""
    doubles = list(rows)
    assert doubles, "there is nothing to copy"
    for row in doubles:
        row.pk = uuid.uuid4() if isinstance(row.pk, uuid.UUID) else None
        for field, value in changes.items():
            setattr(row, field, value)
    QuerySet(type(doubles[0])).bulk_create(doubles)  # the log's own would refuse


def rewrite(rows: QuerySet[Any], **changes: Any) -> None:
    """Update the one row as SQL does; the audit log's own `update` would refuse."""
    assert QuerySet.update(rows, **changes) == 1


def delete(rows: QuerySet[Any]) -> None:
    """Delete the one row as SQL does, and nothing else with it."""
    assert rows._raw_delete(rows.db) == 1


def commit(change: Breach) -> None:
    """Make the change and have the database check it as at the end of a transaction."""
    with transaction.atomic():
        change()
        connection.check_constraints()


def rows_of(model: type[Model], **which: Any) -> QuerySet[Any]:
    return model._default_manager.filter(**which)


def version_of_the_other(resource: Resource) -> uuid.UUID:
    """Return the id of a version that is not the writer's."""
    return resource.objects.get(pk="other").latest_version_id


def breaches_of_a_kind(
    prefix: str, resource: Resource, version: type[Model], label: type[Model]
) -> dict[str, Breach]:
    """Return the breaches of the constraints that all kinds have."""
    writer = {"pk": "writer"}
    first = {"resource": "writer", "number": 1}
    return {
        f"{prefix}_version_number_unique": lambda: insert_copies(rows_of(version, **first)),
        f"{prefix}_version_owned": lambda: insert_copies(
            rows_of(version, **first), pk=rows_of(version, **first).get().pk
        ),
        f"{prefix}_version_number_positive": lambda: rewrite(rows_of(version, **first), number=0),
        f"{prefix}_active_version_is_own": lambda: rewrite(
            rows_of(resource, **writer), active_version=version_of_the_other(resource)
        ),
        f"{prefix}_latest_version_is_own": lambda: rewrite(
            rows_of(resource, **writer), latest_version=version_of_the_other(resource)
        ),
        f"{prefix}_id_not_empty": lambda: rewrite(rows_of(resource, **writer), id=""),
        f"{prefix}_label_unique": lambda: insert_copies(rows_of(label, resource="writer")),
        f"{prefix}_tag_once": lambda: insert_copies(rows_of(resource.tag_model, resource="writer")),
        f"{prefix}_label_version_is_own": lambda: rewrite(
            rows_of(label, resource="writer"), version=version_of_the_other(resource)
        ),
    }


def edgars_key() -> QuerySet[Any]:
    return rows_of(ApiKey, owner__username="edgar")


def veras_key() -> ApiKey:
    return ApiKey.objects.get(owner__username="vera")


# Violations by the name of the constraint.
BREACHES: dict[str, Breach] = {
    **breaches_of_a_kind("agent", Agent, AgentVersion, AgentLabel),
    **breaches_of_a_kind("block", PromptBlock, PromptBlockVersion, PromptBlockLabel),
    **breaches_of_a_kind("scorer", Scorer, ScorerVersion, ScorerLabel),
    "agent_visibility_known": lambda: rewrite(rows_of(Agent, pk="writer"), visibility="secret"),
    "api_key_digest_unique": lambda: rewrite(edgars_key(), digest=veras_key().digest),
    "api_key_prefix_unique": lambda: rewrite(edgars_key(), prefix=veras_key().prefix),
    "api_key_role_known": lambda: rewrite(edgars_key(), role="emperor"),
    "block_reference_once": lambda: insert_copies(rows_of(BlockReference)),
    "cell_once": lambda: insert_copies(rows_of(Cell)),
    "experiment_scorer_once": lambda: insert_copies(rows_of(ExperimentScorer)),
    "label_once_a_person": lambda: insert_copies(rows_of(Label)),
    "score_once": lambda: insert_copies(rows_of(Score)),
    "dataset_name_once": lambda: insert_copies(rows_of(Dataset)),
    "dataset_version_once": lambda: insert_copies(rows_of(DatasetVersion)[:1]),
    "idempotent_request_unique": lambda: insert_copies(rows_of(IdempotentRequest)),
    "identity_unique": lambda: insert_copies(rows_of(Identity)),
    "second_factor_once": lambda: insert_copies(rows_of(SecondFactor)),
    "item_external_id_once": lambda: insert_copies(rows_of(Item)),
    "revision_once": lambda: insert_copies(rows_of(Revision)),
    "scorer_reference_once": lambda: insert_copies(rows_of(ScorerReference)),
    "invitation_digest_unique": lambda: insert_copies(rows_of(Invitation), username="nora"),
    "invitation_pending_once": lambda: insert_copies(rows_of(Invitation), digest="another"),
    "mail_kind_known": lambda: rewrite(rows_of(Mail), kind="chain letter"),
    "invitation_role_known": lambda: rewrite(rows_of(Invitation), role="emperor"),
    "event_audience_known": lambda: rewrite(rows_of(Event), audience="nobody"),
    "event_position_unique": lambda: insert_copies(rows_of(Event)[:1]),
    "event_via_known": lambda: rewrite(rows_of(Event), via="pigeon"),
    "favorite_once_per_person": lambda: insert_copies(rows_of(Favorite)),
    "membership_once_per_workspace": lambda: insert_copies(rows_of(Membership)),
    "membership_role_known": lambda: rewrite(rows_of(Membership, user__username="vera"), role="emperor"),
    "sub_agent_reference_once": lambda: insert_copies(rows_of(SubAgentReference)),
    "workspace_id_not_empty": lambda: Workspace.objects.bulk_create([Workspace(id="", name="Nowhere")]),
}


@dataclass(frozen=True)
class Named:
    """A constraint, and the model that it is part of."""

    constraint: BaseConstraint
    model: type[Model]

    def is_named_by(self, error: IntegrityError) -> bool:
        """Say whether the database names the constraint, as far as it can.

        PostgreSQL names it, or the primary key where that is doubled too. SQLite names a check, the
        columns of a unique constraint, and the table of a foreign key.
        """
        unique = isinstance(self.constraint, UniqueConstraint)
        table = self.model._meta.db_table
        if isinstance(error.__cause__, psycopg.Error):
            names = {self.constraint.name}
            if unique and "id" in self.constraint.fields:
                names.add(f"{table}_pkey")
            return error.__cause__.diag.constraint_name in names
        if unique:
            columns = ", ".join(f"{table}.{self._column(field)}" for field in self.constraint.fields)
            return str(error) == f"UNIQUE constraint failed: {columns}"
        return (self.constraint.name if isinstance(self.constraint, CheckConstraint) else table) in str(error)

    def _column(self, field: str) -> str:
        return str(self.model._meta.get_field(field).column)


def constraints() -> dict[str, Named]:
    """Return every constraint that the models of these applications declare, by name."""
    return {
        constraint.name: Named(constraint, model)
        for application in APPLICATIONS
        for model in apps.get_app_config(application).get_models()
        for constraint in model._meta.constraints
    }


@pytest.fixture
def cast(shared_cast: Cast) -> Cast:
    """The cast, which is the same in every test of this module."""
    return shared_cast


@pytest.fixture(scope="module")
def made(stored_once: Callable[[], AbstractContextManager[None]], shared_keys: dict[str, str]) -> None:
    """Two of each kind, all with two versions and a label; an agent that refers to all; a dataset; lena."""
    with stored_once():
        make_rows(Api(shared_keys["alice"]))


def make_rows(alice: Api) -> None:
    """Store something of every model that has constraints."""
    for kind in (AGENTS, PROMPT_BLOCKS, SCORERS):
        for resource_id in ("writer", "other"):
            record = kind.make(alice, resource_id, autoPublish=True, metadata={"tags": ["red"]})
            kind.save(alice, resource_id)
            label = kind.url(resource_id, "labels", "stable")
            assert alice.put(label, {"versionId": record["activeVersionId"]}).status == 200
    reference = {"type": "prompt_block_ref", "id": "writer"}
    AGENTS.make(alice, "lead", instructions=[reference], agents={"writer": {}}, scorers={"writer": {}})
    get_editor().invitation.invite("acme", "lena", Role.VIEWER)
    assert alice.put(AGENTS.url("lead", "favorite")).status == 200
    dataset = alice.post("/datasets", {"name": "Questions", "scorerIds": ["writer"]}).body["id"]
    assert alice.post(f"/datasets/{dataset}/items", {"externalId": "one", "input": "Hello"}).status == 201
    experiment = make_experiment(alice, f"/datasets/{dataset}")
    result = submit(alice, experiment, alice.get(f"/datasets/{dataset}/items").body["items"][0]["id"])
    assert [one["scorerId"] for one in result["scores"]] == ["writer"]
    Label.objects.create(
        experiment_id=result["experimentId"],
        item_id=result["itemId"],
        name="helpful",
        value=True,
        author=get_user_model().objects.get(username="alice"),
    )
    assert IdempotentRequest.objects.begin("vera", "once", "digest") is None
    vera = get_user_model().objects.get(username="vera")
    Mail.due(MailKind.NEWS, user=vera).save()
    Identity.objects.create(user=vera, issuer="https://id.example.com", subject="1")
    SecondFactor(user=vera, kind=Kind.TOTP).store({"secret": "x", "step": 0})


@pytest.fixture
def rows(db: None, made: None) -> None:
    """Those rows, which are the same in every test of this module."""


def test_every_constraint_of_the_models_is_covered_here() -> None:
    assert set(BREACHES) == set(constraints())


def test_the_database_refuses_rows_that_break_a_rule(rows: None) -> None:
    for name in sorted(constraints()):
        with pytest.raises(IntegrityError) as refused:
            commit(BREACHES[name])
        assert constraints()[name].is_named_by(refused.value), refused.value


@pytest.mark.parametrize("version", [AgentVersion, PromptBlockVersion])
def test_pointers_have_a_unique_key_to_point_at(db: None, version: type[Model]) -> None:
    prefix = "agent" if version is AgentVersion else "block"
    with connection.cursor() as cursor:
        found = connection.introspection.get_constraints(cursor, version._meta.db_table)
    key = found[f"{prefix}_version_owned"]
    assert (key["columns"], key["unique"]) == (["resource_id", "id"], True)


@pytest.mark.parametrize("number", [1, 2], ids=["published-and-labelled", "latest"])
@pytest.mark.parametrize("version", [AgentVersion, PromptBlockVersion])
def test_the_database_refuses_to_lose_a_version_in_use(rows: None, version: type[Model], number: int) -> None:
    with pytest.raises(IntegrityError):
        commit(lambda: delete(rows_of(version, resource="writer", number=number)))


@pytest.mark.parametrize("version", [AgentVersion, PromptBlockVersion])
def test_the_database_allows_deleting_a_version_that_is_not_in_use(
    rows: None, alice: Api, version: type[Model]
) -> None:
    kind = AGENTS if version is AgentVersion else PROMPT_BLOCKS
    kind.save(alice, "writer", "three")
    commit(lambda: delete(rows_of(version, resource="writer", number=2)))
    assert [version["versionNumber"] for version in kind.versions(alice)] == [3, 1]
