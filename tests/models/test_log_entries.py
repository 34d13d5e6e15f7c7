"""Entries of the log are never changed and never removed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from tests.conftest import Cast
from tests.support.api import AGENTS, Kind
from tests.support.calls import make_history, undone
from tests.support.people import key_of, person
from versioning.models import Event


def everything() -> list[dict[str, Any]]:
    return list(Event.objects.order_by("position", "ordinal").values())


def test_entries_remain_after_their_subject_is_deleted(cast: Cast, kind: Kind) -> None:
    history = make_history(kind, cast.alice)
    kind.publish(cast.paula, "writer", history.draft)
    person("lena", acme="viewer")
    key_of("lena")
    before = everything()
    assert cast.alice.delete(kind.url("writer")).status == 200
    User.objects.get(username="lena").delete()
    after = everything()
    assert after[: len(before)] == before


def of_the_same_id(entry: Event) -> Event:
    """A forged entry with the id of a real one."""
    return Event(pk=entry.pk, position=entry.position, type="agent.published", actor="mallory", via="api")


TAMPERING: dict[str, Callable[[Event], object]] = {
    "saving it": lambda entry: entry.save(),
    "saving a field of it": lambda entry: entry.save(update_fields=["actor"]),
    "forcing an update": lambda entry: entry.save(force_update=True),
    "saving another one of its id": lambda entry: of_the_same_id(entry).save(),
    "deleting it": lambda entry: entry.delete(),
    "updating all": lambda entry: Event.objects.update(actor="mallory"),
    "updating some": lambda entry: Event.objects.filter(pk=entry.pk).update(actor="mallory"),
    "updating in bulk": lambda entry: Event.objects.bulk_update([of_the_same_id(entry)], ["actor"]),
    "updating or creating": lambda entry: Event.objects.update_or_create(
        pk=entry.pk, defaults={"actor": "mallory"}
    ),
    "inserting over it": lambda entry: Event.objects.bulk_create(
        [of_the_same_id(entry)], update_conflicts=True, update_fields=["actor"], unique_fields=["pk"]
    ),
    "deleting all": lambda entry: Event.objects.all().delete(),
    "deleting some": lambda entry: Event.objects.filter(pk=entry.pk).delete(),
}


def test_no_entry_is_changed_or_removed(cast: Cast) -> None:
    for tamper in TAMPERING.values():
        with undone():
            AGENTS.make(cast.paula, autoPublish=True)
            before = everything()
            entry = Event.objects.order_by("position", "ordinal").last()
            assert entry is not None
            entry.actor = "mallory"
            with pytest.raises((TypeError, IntegrityError)), transaction.atomic():
                tamper(entry)
            assert everything() == before
