"""The migration that remembers what was published before reviews were there."""

from __future__ import annotations

import uuid
from importlib import import_module
from typing import Any

from django.apps import apps

from review.models import PublishedConfiguration
from tests.conftest import Cast
from tests.support.api import Kind
from versioning.domain.overrides import IN_CODE
from versioning.models import Event
from versioning.models.kinds import MODELS

MIGRATION: Any = import_module("review.migrations.0002_published_before")


def remembered(kind: Kind) -> set[tuple[uuid.UUID, str]]:
    """Run the migration anew, twice, and return (identity, digest) of what it remembers."""
    PublishedConfiguration.objects.all().delete()
    MIGRATION.remember(apps, None)
    MIGRATION.remember(apps, None)
    rows = PublishedConfiguration.objects.filter(resource_id="writer")
    return set(rows.values_list("identity", "digest"))


def test_what_is_live_and_what_the_log_says_was_is_remembered(cast: Cast, kind: Kind, settings: Any) -> None:
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
    # What nothing is known of any more cannot be remembered; what is live is.
    Event.objects.filter(type__endswith="published")._raw_delete("default")
    assert remembered(kind) == {(resource.uuid, digests[3])}


def test_what_is_live_where_code_lives_is_remembered_of_the_code_too(
    cast: Cast, kind: Kind, settings: Any
) -> None:
    settings.EDITOR_CODE_WORKSPACE = "acme"
    kind.make(cast.alice, autoPublish=True)
    found = {identity for identity, _ in remembered(kind)}
    assert (IN_CODE in found) == (kind.text == "instructions")
    assert len(found) == 1 + (kind.text == "instructions")
