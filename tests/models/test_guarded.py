"""Versions never change, and resources, labels and references change by the editor's verbs alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.admin import AdminSite, ModelAdmin, TabularInline
from django.contrib.auth.models import User
from django.core import serializers
from django.db import models
from django.db.models.signals import pre_delete
from django.test import Client
from django.urls import include, path, reverse

from capabilities.evaluation.scoring.models import Scorer
from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, SCORERS, Kind
from tests.support.calls import undone
from versioning.models import Agent, AgentVersion, Event, PromptBlock, Workspace

MODELS: dict[Kind, Any] = {AGENTS: Agent, PROMPT_BLOCKS: PromptBlock, SCORERS: Scorer}


def rows_of(model: Any) -> list[dict[str, Any]]:
    """Return everything that is stored of a kind."""
    tables = (
        model,
        model.version_model,
        model.label_model,
        model.tag_model,
        *model.version_model.reference_models,
    )
    return [row for table in tables for row in table.objects.order_by("pk").values()]


def writes(row: Any) -> Iterator[Callable[[], object]]:
    """Yield every way in which Django writes a stored row, with the column that it would change."""
    table, same = type(row), {row._meta.pk.name: row.pk}
    column = next(
        field for field in row._meta.concrete_fields if not field.primary_key and not field.is_relation
    )
    change = {column.name: getattr(row, column.attname)}
    for manager in (table.objects, table._base_manager):
        some = manager.filter(**same)
        yield lambda some=some: some.update(**change)
        yield lambda some=some: some.delete()
        yield lambda manager=manager: manager.bulk_create([row], ignore_conflicts=True)
        yield lambda manager=manager: manager.bulk_update([row], [column.name])
        yield lambda manager=manager: manager.update_or_create(**same, defaults=change)
        yield lambda manager=manager: manager.create(**same)
        yield lambda manager=manager: manager.get_or_create(pk=None)
    yield row.save
    yield lambda: row.save(update_fields=[column.name])
    yield lambda: table(**{field.attname: getattr(row, field.attname) for field in row._meta.fields}).save()
    yield row.delete


@pytest.mark.parametrize("kind", [AGENTS, PROMPT_BLOCKS, SCORERS], ids=["agent", "block", "scorer"])
def test_the_orm_writes_nothing_of_a_kind(cast: Cast, kind: Kind) -> None:
    made = kind.make(cast.alice, autoPublish=True, metadata={"tags": ["red"]})
    kind.save(cast.alice)
    label = kind.url("writer", "labels", "stable")
    assert cast.alice.put(label, {"versionId": made["activeVersionId"], "released": True}).status == 200
    resource = MODELS[kind].objects.get()
    before = rows_of(MODELS[kind])
    tag = resource.tag_model.objects.get()
    rows = (resource, resource.versions.first(), resource.labels.get(), tag)
    ways = [way for row in rows for way in writes(row)]
    ways += [
        lambda: resource.versions.update(config_json="{}"),
        lambda: resource.versions.all().delete(),
        lambda: resource.versions.create(number=9),
        lambda: resource.versions.add(resource.versions.last()),
        lambda: resource.labels.update(version=resource.latest_version),
        lambda: MODELS[kind].objects.update(active_version=None),
    ]
    for way in ways:
        with undone(), pytest.raises(TypeError, match="written by the editor's verbs alone"):
            way()
    assert rows_of(MODELS[kind]) == before
    # The verbs go on, and so does the deletion of everything below.
    assert cast.alice.delete(label).status == 200
    assert (
        cast.alice.delete(kind.url("writer", "versions", resource.versions.all()[0].version_id)).status == 200
    )
    assert cast.alice.delete(kind.url("writer")).status == 200
    assert rows_of(MODELS[kind]) == []


def test_grants_of_references_are_not_rewritten(cast: Cast) -> None:
    PROMPT_BLOCKS.make(cast.alice, "tone", autoPublish=True)
    AGENTS.make(cast.alice, text=[{"type": "prompt_block_ref", "id": "tone"}], autoPublish=True)
    references = AgentVersion.objects.get().blocks
    for way in (lambda: references.update(target_uuid=None), references.get().delete):
        with pytest.raises(TypeError):
            way()
    assert references.exclude(target_uuid=None).count() == 1


def test_nothing_is_deleted_along_with_another_row(cast: Cast) -> None:
    AGENTS.make(cast.alice)
    agent, workspace = Agent.objects.get(), Workspace.objects.get(pk="acme")
    with pytest.raises(models.ProtectedError):
        workspace.delete()
    with pytest.raises(TypeError, match="Agent is written by"):  # as Django sends it for a cascade
        pre_delete.send(sender=Agent, instance=agent, using="default", origin=workspace)


@pytest.mark.database
def test_a_dump_is_loaded(cast: Cast) -> None:
    AGENTS.make(cast.alice)
    tables = (Agent, AgentVersion)
    dump = serializers.serialize("json", [row for table in tables for row in table.objects.all()])
    assert cast.alice.delete(AGENTS.url("writer")).status == 200
    for row in serializers.deserialize("json", dump):
        row.save()
    assert cast.alice.get(AGENTS.url("writer"), status="draft").status == 200


class VersionsInline(TabularInline):  # type: ignore[type-arg]
    """The versions of an agent, below it."""

    model = AgentVersion
    fk_name = "resource"


class OwnAgentAdmin(ModelAdmin):  # type: ignore[type-arg]
    """As a project writes it."""

    inlines = [VersionsInline]
    list_editable = ["visibility"]
    list_display = ["id", "visibility"]


own = AdminSite(name="own")
own.register(Agent, OwnAgentAdmin)
own.register([AgentVersion, Event])
urlpatterns = [path("own/", own.urls), path("", include("editor_project.urls"))]


@pytest.mark.urls(__name__)
def test_an_admin_of_the_project_shows_them_read_only(cast: Cast, client: Client) -> None:
    root = User.objects.get(username="root")
    root.is_staff = True
    root.save()
    client.force_login(root)
    text = "Write plainly."
    AGENTS.make(cast.alice, text=text)
    agent, version, event = Agent.objects.get(), AgentVersion.objects.get(), Event.objects.all()[0]
    before = rows_of(Agent)
    for row in (agent, version, event):
        page = reverse(f"own:versioning_{row._meta.model_name}_change", args=[row.pk])
        shown = client.get(page).content.decode()
        assert 'name="_save"' not in shown and "<textarea" not in shown and 'type="text"' not in shown
        assert row is event or "acme" in shown or text in shown
        assert client.post(page, {"id": row.pk, "visibility": "public"}).status_code == 403
        assert client.post(page.replace("change", "delete"), {"post": "yes"}).status_code == 403
        assert client.get(page.rpartition(f"{row.pk}/")[0] + "add/").status_code == 403
        chosen = {"action": "delete_selected", "_selected_action": [row.pk], "post": "yes"}
        listing = reverse(f"own:versioning_{row._meta.model_name}_changelist")
        client.post(listing, chosen)
        edited = {"form-TOTAL_FORMS": 1, "form-INITIAL_FORMS": 1, "form-0-id": row.pk, "_save": "yes"}
        client.post(listing, {**edited, "form-0-visibility": "public"})
    assert rows_of(Agent) == before
