"""The data for measuring the studio: realistic resources, and a few extreme ones."""

from __future__ import annotations

import datetime
import random
from collections.abc import Iterator, Sequence
from typing import Any

from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection, models, transaction
from django.utils import timezone
from editor_client.shared.tags import read_tags

from tests.serving.test_query_counts import FACTORIES
from tests.support.api import AGENTS, PROMPT_BLOCKS, Kind
from tests.support.factories import ECHO
from tests.support.people import make_cast
from versioning.domain.access import APPLICATION
from versioning.domain.events import find_audience
from versioning.models import BlockReference, Event, Favorite, LogPosition, SubAgentReference, text_search
from versioning.models.events import make_entry

AGENTS_IN_ALL, BLOCKS_IN_ALL = 20_000, 5_000
USERS_OF_ONE = 5_000
"""The number of agents that show the prompt block `common`."""
VERSIONS_OF_ONE, REFERENCES_OF_ONE, LARGE = 10_000, 60, 200_000

_AT_ONCE = 500
_FOLDERS = ("", "", "marketing/", "support/", "support/billing/", "writing/", "coding/", "team/legal/")
_TAGS = ("customer", "internal", "beta", "legal", "seasonal", "v2")
_ENDINGS = ("ral", "tion", "ment", "der", "ling", "sor", "ve", "tic", "rious", "nage", "pel", "ston", "cke")
_COMMON = [
    "the",
    "you",
    "and",
    "answer",
    "customer",
    "of",
    "a",
    "to",
    "in",
    "order",
    "please",
    "never",
    "with",
    "our",
    "is",
    "write",
    "briefly",
    "kindly",
]
_RARE = [
    *[
        "invoice",
        "refund",
        "delivery",
        "warranty",
        "complaint",
        "translate",
        "summary",
        "poem",
        "recipe",
        "travel",
    ],
    *(f"{first}{second}{third}" for first in "bdfgklmnprst" for second in "aeiou" for third in _ENDINGS),
]
_PLACEHOLDERS = " of {{ shop.name || 'our shop' }}, in {{ language || 'English' }}."
_PEOPLE = ("alice", "paula", "edgar")


def fill() -> None:
    """Migrate the current database and create everything, including the users of the tests."""
    call_command("migrate", verbosity=0)
    make_cast()
    _resources(PROMPT_BLOCKS, ["common", *(f"{_folder(one)}block-{one}" for one in range(1, BLOCKS_IN_ALL))])
    _resources(AGENTS, [f"{_folder(one)}agent-{one}" for one in range(AGENTS_IN_ALL - 3)])
    blocks = [f"{_folder(one)}block-{one}" for one in range(1, REFERENCES_OF_ONE + 1)]
    referring = [{"type": "prompt_block_ref", "id": block} for block in blocks]
    _resources(AGENTS, ["of-many-blocks"], instructions=referring)
    _resources(AGENTS, ["large"], instructions="\n\n".join(prose(one, 80) for one in range(500))[:LARGE])
    _resources(AGENTS, ["of-many-versions"], versions=VERSIONS_OF_ONE)
    paula = User.objects.get(username="paula")
    starred = [f"{_folder(one)}agent-{one}" for one in range(0, 200, 10)]
    Favorite.objects.bulk_create(Favorite(user=paula, kind="agent", resource_id=one) for one in starred)
    text_search.follow()
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def _folder(number: int) -> str:
    return _FOLDERS[number % len(_FOLDERS)]


def _resources(kind: Kind, names: Sequence[str], *, versions: int = 0, **config: Any) -> None:
    for first in range(0, len(names), _AT_ONCE):
        with transaction.atomic():  # pointers may be dangling until it ends
            _some(kind, names[first : first + _AT_ONCE], first, versions, config)


def _some(kind: Kind, names: Sequence[str], first: int, versions: int, config: dict[str, Any]) -> None:
    make_row, make_version, make_label = FACTORIES[kind]
    people = {user.username: user for user in User.objects.all()}
    found: list[Any] = []
    rows: list[Any] = []
    for place, name in enumerate(names, first):
        author = people[_PEOPLE[place % len(_PEOPLE)]]
        count = versions or 2 + (place % 5 == 0)
        at = timezone.now() - datetime.timedelta(minutes=5 * place + count)
        own = [
            make_version.build(
                resource_id=name,
                number=number,
                author=author,
                created_at=at + datetime.timedelta(seconds=number),
                changed_fields=["instructions", "description"] if number > 1 else ["name", "instructions"],
                more={**_config(kind, place, number), **config},
            )
            for number in range(1, count + 1)
        ]
        live = None if place % 11 == 5 and not versions else own[-2 if place % 5 == 0 else -1]
        tags = [tag for step, tag in enumerate(_TAGS, 2) if place % (3 * step) == 0]
        rows.append(
            make_row.build(
                version=own[-1],
                active_version_id=live.pk if live else None,
                was_ever_published=live is not None or place % 22 == 5,
                published_at=live.created_at if live else None,
                metadata={"tags": tags} if tags else {},
                created_at=own[0].created_at,
                updated_at=own[-1].created_at,
                published_updated_at=live.created_at if live else None,
            )
        )
        found += own
    insert(rows)
    insert(found)
    labelled = found if versions else [one for one in found if one.number == 1][::10]
    insert(
        make_label.build(version=one, name=f"try-{one.number}" if versions else "stable") for one in labelled
    )
    tag_model = type(rows[0]).tag_model
    insert(tag_model(resource_id=row.pk, name=tag) for row in rows for tag in read_tags(row.metadata))
    _refer(found)
    _log(rows, found)


def insert(made: Any) -> None:
    """Insert rows of one model, bypassing its manager's restrictions."""
    made = list(made)
    if made:
        models.QuerySet(type(made[0])).bulk_create(made, batch_size=2_000)


def _config(kind: Kind, place: int, number: int) -> dict[str, Any]:
    text = prose(place, 100 + place % 100) + _PLACEHOLDERS + f" Version {number}."
    about = {"name": prose(place + 1, 3).title(), "description": prose(place + 2, 8)}
    if kind == PROMPT_BLOCKS:
        return {**about, "content": text}
    if place % 4:
        return {**about, "instructions": text, "model": ECHO}
    referring = [{"type": "text", "content": text}, {"type": "prompt_block_ref", "id": "common"}]
    return {**about, "instructions": referring, "model": ECHO}


def prose(seed: int, count: int) -> str:
    """Return words, some of which occur in most texts and some in a few."""
    chance = random.Random(seed)
    return " ".join(
        chance.choice(_COMMON) if chance.random() < 0.6 else _RARE[int(len(_RARE) * chance.random() ** 3)]
        for _ in range(count)
    )


def _refer(versions: Sequence[Any]) -> None:
    for model in type(versions[0]).reference_models:
        if model in {BlockReference, SubAgentReference}:
            insert(
                model(version_id=version.pk, target_id=target)
                for version in versions
                for target in {target for _, target in model.find(version.config)}
            )


def _log(rows: Sequence[Any], versions: Sequence[Any]) -> None:
    position = LogPosition.objects.get().position
    made = list(_entries(rows, versions))
    insert(Event(**entry, position=at) for at, entry in enumerate(made, position + 1))
    LogPosition.objects.update(position=position + len(made))


def _entries(rows: Sequence[Any], versions: Sequence[Any]) -> Iterator[dict[str, Any]]:
    """Yield the log entries of saving and publishing, as far as the pages read them."""
    from versioning.conf import get_editor  # noqa: PLC0415  its registry is made from the settings
    from versioning.serving.grants import target_of  # noqa: PLC0415

    by_id = {row.pk: row for row in rows}
    targets = {row.pk: target_of(row, get_editor().code) for row in rows}
    for version in versions:
        row, target = by_id[version.resource_id], targets[version.resource_id]
        happened = ["created" if version.number == 1 else "updated"]
        happened += ["published"] if row.active_version_id == version.pk or version.number % 2 else []
        for what in happened:
            kind = f"{target.kind}.{what}"
            about = {"workspace_id": row.workspace_id, "previous_version_id": "", "label": "", "detail": {}}
            entry = make_entry(kind, find_audience(kind), APPLICATION, target, version, **about)
            yield entry | {"actor": version.author.username, "created_at": version.created_at}
