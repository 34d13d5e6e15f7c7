"""The migration that records what was published before reviews existed."""

from __future__ import annotations

import uuid
from importlib import import_module
from typing import Any

from django.apps import apps
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from capabilities.review.models import OtherAuthor, PublishedConfiguration, Verdict
from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Kind
from tests.support.reviews import approve, ask
from versioning.domain.overrides import IN_CODE
from versioning.models import Event
from versioning.models.versioned import MODELS

MIGRATION: Any = import_module("capabilities.review.migrations.0002_published_before")
HISTORY: Any = import_module("capabilities.review.migrations.0004_history")


def remembered(kind: Kind) -> set[tuple[uuid.UUID, str]]:
    """Run the migration again, twice, and return (identity, digest) of the recorded configurations."""
    PublishedConfiguration.objects.all().delete()
    MIGRATION.remember(apps, None)
    MIGRATION.remember(apps, None)
    rows = PublishedConfiguration.objects.filter(resource_id="writer")
    return set(rows.values_list("identity", "digest"))


def test_live_versions_and_published_versions_of_the_log_are_recorded(
    cast: Cast, kind: Kind, settings: Any
) -> None:
    settings.EDITOR_CODE_WORKSPACE = "elsewhere"
    kind.make(cast.alice, text="earlier", autoPublish=True)
    assert cast.alice.delete(kind.url("writer")).status == 200
    kind.make(cast.alice, autoPublish=True)
    for text in ("two", "three"):
        kind.save(cast.alice, text=text, autoPublish=True)
    kind.save(cast.alice, text="never live")
    model = next(model for model in MODELS if model.objects.exists())
    resource = model.objects.get()
    digests = dict(resource.versions.values_list("number", "digest"))
    expected = {(resource.uuid, digests[number]) for number in (1, 2, 3)}
    assert remembered(kind) == expected
    # Forgotten versions cannot be recorded; live ones are.
    Event.objects.filter(type__endswith="published")._raw_delete("default")
    assert remembered(kind) == {(resource.uuid, digests[3])}


def test_live_versions_in_the_workspace_of_the_code_are_recorded_for_the_code_too(
    cast: Cast, kind: Kind, settings: Any
) -> None:
    settings.EDITOR_CODE_WORKSPACE = "acme"
    kind.make(cast.alice, autoPublish=True)
    found = {identity for identity, _ in remembered(kind)}
    assert (IN_CODE in found) == (kind.text == "instructions")
    assert len(found) == 1 + (kind.text == "instructions")


def history() -> list[Any]:
    """Return all history that reviews use."""
    about = ("kind", "resource_id", "identity", "number")
    published = PublishedConfiguration.objects.values_list(*about, "digest", "named")
    deleted = OtherAuthor.objects.values_list(*about, "author_id")
    return [
        sorted(rows, key=str) for rows in (published, deleted, Verdict.objects.values_list("pk", "named"))
    ]


def then() -> Any:
    """Return the models as that migration knows them."""
    return MigrationLoader(connection).project_state([("review", "0004_history")]).apps


def forget() -> None:
    """Reduce the data to that of the previous release: each configuration once, with only its digest."""
    seen = set()
    for row in PublishedConfiguration.objects.order_by("pk"):
        if (row.identity, row.digest) in seen:
            row.delete()
        seen.add((row.identity, row.digest))
    PublishedConfiguration.objects.update(number=0, named="")
    Verdict.objects.update(named="")
    OtherAuthor.objects.all().delete()


def test_an_upgrade_reconstructs_the_same_history(cast: Cast, kind: Kind) -> None:
    PROMPT_BLOCKS.make(cast.alice, "tone", autoPublish=True)
    text = [{"type": "prompt_block_ref", "id": "tone"}] if kind is AGENTS else "one"
    first = kind.make(cast.alice, text=text, autoPublish=True)["activeVersionId"]
    draft = kind.save(cast.paula)["latestVersionId"]
    kind.save(cast.edgar, text=text, description="three")
    approve(cast.alice, ask(cast.edgar, kind))
    assert cast.alice.delete(kind.url("writer", "versions", draft)).status == 200
    copy = cast.alice.post(kind.url("writer", "versions", first, "restore")).body["id"]
    kind.publish(cast.alice, "writer", copy)
    kept = history()
    assert {row[3] for row in kept[0] if row[1] == "writer"} == {1, 4}
    assert [row[3] for row in kept[1]] == [2]
    forget()
    for _ in range(2):  # as after an interruption
        HISTORY.fill(then(), None)
        assert history() == kept


def test_an_upgrade_does_not_trust_replaced_references(cast: Cast) -> None:
    PROMPT_BLOCKS.make(cast.alice, "tone", autoPublish=True)
    AGENTS.make(cast.alice, text=[{"type": "prompt_block_ref", "id": "tone"}], autoPublish=True)
    approve(cast.paula, ask(cast.alice, AGENTS))
    kept = history()
    assert cast.alice.delete(PROMPT_BLOCKS.url("tone")).status == 200
    PROMPT_BLOCKS.make(cast.alice, "tone", autoPublish=True)
    forget()
    HISTORY.fill(then(), None)
    [published] = [row for row in history()[0] if row[1] == "writer"]
    assert published in kept[0]  # it was granted the block that is gone
    assert [named for _, named in history()[2]] == [""]  # nothing that is named now was there
