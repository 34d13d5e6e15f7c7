"""What an upgrade does to texts that were stored in another form than that in which they are compared now."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator

import pytest
from django.db import connection, transaction
from django.db.migrations.state import StateApps
from editor_client.shared.text_keys import caseless

from tests.support import migrating
from versioning.models import text_search
from versioning.models.text_search import Lines, text_index

pytestmark = pytest.mark.database

BEFORE = [("versioning", "0027_ever_published"), ("evaluation", "0009_conditions_of_evidence")]
AFTER = [("versioning", "0028_text_keys"), ("evaluation", "0010_search_text")]
DECOMPOSED, COMPOSED, PLAIN = "Cafe\u0301", "Caf\u00e9", "Plain"


@pytest.fixture
def earlier_release(committed_db: None) -> Iterator[StateApps]:
    with migrating.earlier_release(BEFORE) as apps:
        yield apps


def make_words_again(table: str) -> None:
    """Make the FTS5 table again, whose own tables were emptied behind its back."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute(f"DROP TABLE {table}_words")
            cursor.execute(text_search._ON_SQLITE[0].format(table=table))


def test_stored_texts_come_into_the_form_in_which_they_are_compared(earlier_release: StateApps) -> None:
    apps = earlier_release
    apps.get_model("versioning", "Workspace").objects.create(id="acme", name="Acme")
    progress = apps.get_model("versioning", "SearchProgress")
    progress.objects.update_or_create(pk=1, defaults={"is_whole": True})
    documents = apps.get_model("versioning", "AgentDocument")
    make_words_again(documents._meta.db_table)
    for name, text in (("decomposed", DECOMPOSED), ("composed", COMPOSED), ("plain", PLAIN)):
        version = uuid.uuid4()
        with transaction.atomic():
            apps.get_model("versioning", "Agent").objects.create(
                id=name, uuid=uuid.uuid4(), workspace_id="acme", latest_version_id=version
            )
            apps.get_model("versioning", "AgentVersion").objects.create(
                id=version,
                resource_id=name,
                number=1,
                config_json="{}",
                changed_fields=[],
                search_text=f"{name}\n{text}".casefold(),
            )
        text_index().add([(documents(version_id=version, resource_id=name), Lines(" a ", " a ", " ", " "))])
        for tag in {text, DECOMPOSED} if name == "composed" else {text}:
            apps.get_model("versioning", "AgentTag").objects.create(name=tag, resource_id=name)
    dataset = apps.get_model("evaluation", "Dataset").objects.create(
        workspace_id="acme", name="D", digest="x"
    )
    payloads = [
        ({"input": {"question": DECOMPOSED}}, False),
        ({"input": None, "metadata": {"__purged": True}}, False),
        ({"input": "gone"}, True),
    ]
    for payload, is_deleted in payloads:
        item = apps.get_model("evaluation", "Item").objects.create(dataset=dataset)
        text = json.dumps(payload, separators=(",", ":"))
        apps.get_model("evaluation", "Revision").objects.create(
            item=item, dataset=dataset, version=1, payload_json=text, digest="x", is_deleted=is_deleted
        )

    apps = migrating.migrate(AFTER)
    versions = apps.get_model("versioning", "AgentVersion").objects
    assert dict(versions.values_list("resource_id", "search_text")) == {
        name: caseless(f"{name}\n{text}")
        for name, text in (("decomposed", COMPOSED), ("composed", COMPOSED), ("plain", PLAIN))
    }
    # Only what was folded again is indexed again.
    left = apps.get_model("versioning", "AgentDocument").objects.values_list("resource_id", flat=True)
    assert sorted(left) == ["composed", "plain"]
    assert not apps.get_model("versioning", "SearchProgress").objects.get().is_whole
    tags = apps.get_model("versioning", "AgentTag").objects.values_list("resource_id", "name")
    assert sorted(tags) == [("composed", COMPOSED), ("decomposed", COMPOSED), ("plain", PLAIN)]
    revisions = apps.get_model("evaluation", "Revision").objects.order_by("pk")
    assert list(revisions.values_list("search_text", flat=True)) == [caseless(COMPOSED), "", ""]
