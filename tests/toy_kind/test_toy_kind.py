"""A custom kind has all features of agents and prompt blocks: its application is all that it takes.

The project is this one with `tests.toy_kind` in INSTALLED_APPS, in front of a real server.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from html import unescape
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.api import Api, Kind
from tests.support.ports import free_port
from tests.support.remote import connected
from tests.support.service import Service, environment_of, new_database, template_database
from tests.support.studio import visiting
from tests.support.studio_cast import PASSWORD, make_cast
from tests.toy_kind.client import SnippetClient

pytestmark = pytest.mark.processes

SNIPPETS = Kind(path="/stored/snippets", list_key="snippets", id_key="snippetId", text="source")
ROLES = ("alice", "paula", "edgar", "vera", "charlie")
"""The admin, the publisher, the editor and the viewer of acme, and a stranger to it."""
NAMES = "abcdefghijklmnop"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service in a project that has the kind, and the cast in it."""
    folder = tmp_path_factory.mktemp("toy_kind")
    with new_database(folder / "live.sqlite3", template_database().url) as database_url:
        url = f"http://127.0.0.1:{free_port()}"
        environment = environment_of(database_url, DJANGO_SETTINGS_MODULE="tests.toy_kind.settings")
        made = Service(url=url, environment=environment, folder=folder, key=template_database().key)
        made.manage("migrate")
        made.start()
        try:
            yield made
        finally:
            made.stop()


@pytest.fixture(scope="module")
def people(service: Service) -> Iterator[Any]:
    """The API with the key of each member of the cast."""
    with ExitStack() as stack:
        keys = make_cast(service)
        yield SimpleNamespace(
            **{name: stack.enter_context(connected(service, key)) for name, key in keys.items()}
        )


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """An id that no other test uses."""
    return str(request.node.name).replace("_", "-")[-40:].strip("-")


def make(api: Api, name: str, text: str = "print(1)", **more: Any) -> dict[str, Any]:
    """Make a snippet in acme, as a draft."""
    return SNIPPETS.make(api, name, text, workspaceId="acme", **more)


def test_a_snippet_has_the_lifecycle_of_an_agent(people: Any, name: str) -> None:
    api, url = people.alice, SNIPPETS.url
    made = make(api, name, language="python", metadata={"tags": ["handy"]})
    assert (made["status"], made["source"], made["language"]) == ("draft", "print(1)", "python")
    assert people.vera.get(url(name)).status == 404
    SNIPPETS.publish(api, name, made["resolvedVersionId"])
    saved = SNIPPETS.save(api, name, "print(2)")
    assert saved["hasDraft"] and people.vera.get(url(name)).body["source"] == "print(1)"
    newest, oldest = SNIPPETS.versions(api, name)
    assert newest["snippetId"] == name and newest["changedFields"] == ["source"]
    compared = api.get(url(name, "versions", "compare"), **{"from": oldest["id"], "to": newest["id"]}).body
    assert [(one["field"], one["currentValue"]) for one in compared["diffs"]] == [("source", "print(2)")]
    label = api.put(url(name, "labels", "stable"), {"versionId": oldest["id"], "released": True})
    assert label.status == 200
    assert people.vera.get(url(name), label="stable").body["source"] == "print(1)"
    assert api.post(url(name, "versions", oldest["id"], "restore")).body["source"] == "print(1)"
    copy = api.post(url(name, "clone"), {"newId": f"{name}-copy"})
    assert copy.status == 201 and copy.body["language"] == "python"
    exported = api.post(url(name, "export"), {}).body
    assert exported["fileName"] and exported["snippetId"] == name
    assert api.put(url(name, "favorite")).body == {"favorited": True, "favoriteCount": 1}
    assert api.post(url(name, "unpublish")).body["status"] == "draft"
    logged = api.get("/events", type="snippet.*", id=name, kind="snippet").body["events"]
    assert {"snippet.created", "snippet.published", "snippet.labelMoved"} <= {one["type"] for one in logged}
    assert api.delete(url(name)).status == api.delete(url(f"{name}-copy")).status == 200
    assert api.get(url(name), status="draft").status == 404


def test_invalid_fields_of_a_snippet_are_named(people: Any, name: str) -> None:
    given = {"id": name, "workspaceId": "acme", "name": " ", "source": "", "language": 1, "instructions": "x"}
    answer = people.alice.post(SNIPPETS.path, given)
    assert (answer.status, answer.fields) == (400, ["instructions", "language", "name", "source"])


def test_lists_find_snippets(people: Any, name: str) -> None:
    make(people.alice, name, "a zebra crossing", metadata={"tags": ["striped"]}, autoPublish=True)
    make(people.alice, f"{name}-other", "a giraffe")
    for query in ({"search": "zebra"}, {"tag": "striped"}, {"status": "published", "search": "zebra"}):
        found = people.alice.get(SNIPPETS.path, **query).body["snippets"]
        assert [one["id"] for one in found] == [name]
    assert people.charlie.get(SNIPPETS.path).body["total"] == 0


def test_lists_have_the_filter_of_the_application(service: Service, people: Any, name: str) -> None:
    for prefix in ("one", "two"):
        make(people.alice, f"{prefix}-{name}")
    found = people.alice.get(SNIPPETS.path, idPrefix=f"one-{name}").body["snippets"]
    assert [one["id"] for one in found] == [f"one-{name}"]
    assert people.alice.get("/stored/agents", idPrefix="one").status == 400
    document = people.alice.request("GET", "/schema", accept="application/json").body
    offered = {
        kind: {one["name"] for one in document["paths"][f"/stored/{kind}"]["get"]["parameters"]}
        for kind in ("snippets", "agents")
    }
    assert "idPrefix" in offered["snippets"] and "idPrefix" not in offered["agents"]
    with visiting(service.url) as alice:
        assert alice.sign_in("alice", PASSWORD)
        page = alice.get("/studio/toy_kind/snippet/", prefix=f"two-{name}").markup
        assert "Id begins with" in page
        assert f"two-{name}/change/" in page and f"one-{name}/change/" not in page


def test_rights_on_snippets(people: Any, name: str) -> None:
    url, may = SNIPPETS.url, {}
    for role in ROLES:
        api = getattr(people, role)
        resource_id = f"{name}-{role}"
        made = make(people.alice, resource_id)
        save = api.patch(url(resource_id), {"source": "print(2)"}).status
        publish = api.post(url(resource_id, "versions", made["resolvedVersionId"], "activate")).status
        read = api.get(url(resource_id)).status
        may[role] = (save, publish, read, api.delete(url(resource_id)).status)
    assert may == {
        "alice": (200, 200, 200, 200),
        "paula": (200, 200, 200, 200),
        "edgar": (200, 403, 200, 403),
        "vera": (404, 404, 404, 404),
        "charlie": (404, 404, 404, 404),
    }


def test_a_snippet_is_reviewed_and_released(people: Any, name: str) -> None:
    made = make(people.edgar, name)
    resource = {"kind": "snippet", "id": name}
    policy = "/workspaces/acme/review-policy"
    assert people.alice.put(policy, {"required": 1}).status == 200
    try:
        release = people.paula.post(
            "/releases", {"workspaceId": "acme", "title": "Autumn", "items": [{"resource": resource}]}
        ).body
        assert people.paula.post(f"/releases/{release['id']}/publish").status == 409
        review = people.edgar.post("/reviews", {"resource": resource}).body
        verdict = {"versionId": made["resolvedVersionId"], "verdict": "approve"}
        assert people.paula.post(f"/reviews/{review['id']}/verdicts", verdict).status == 200
        comment = {
            "resource": resource,
            "versionId": made["resolvedVersionId"],
            "body": "Good.",
            "field": "source",
        }
        assert people.paula.post("/comments", comment).status == 201
        assert people.paula.post(f"/releases/{release['id']}/publish").status == 200
    finally:
        people.alice.put(policy, {"required": 0})
    assert people.vera.get(SNIPPETS.url(name)).body["source"] == "print(1)"


def test_the_openapi_document_describes_snippets(people: Any) -> None:
    document = people.alice.request("GET", "/schema", accept="application/json").body
    paths = document["paths"]
    assert "/stored/snippets/{id}/versions" in paths
    assert "/stored/snippets/{id}/dependents" not in paths
    assert set(document["components"]["schemas"]["SnippetCreate"]["required"]) == {"name", "source"}


def test_the_client_reads_snippets(service: Service, people: Any, name: str) -> None:
    make(people.alice, name, language="python", autoPublish=True)
    SNIPPETS.save(people.alice, name, "print(2)")
    with SnippetClient(service.url, api_key=people.alice.key) as client:
        snippet = client.get_stored_snippet(name)
        assert snippet.details(status="draft").source == "print(2)"
        newest, oldest = snippet.iter_versions()
        assert (oldest.snippet_id, oldest.language, newest.changed_fields) == (name, "python", ("source",))
        compared = snippet.compare_versions(oldest.id, newest.id)
        assert [diff.field for diff in compared.diffs] == ["source"]
        assert snippet.delete().success


WRITES = """
from tests.toy_kind.models import Snippet, SnippetLabel, SnippetVersion
for way in (
    lambda: SnippetVersion.objects.update(config_json="{}"),
    lambda: Snippet.objects.get(pk="NAME").versions.all().delete(),
    lambda: Snippet.objects.get(pk="NAME").save(),
    lambda: SnippetLabel.objects.create(resource_id="NAME", name="x"),
):
    try:
        way()
    except TypeError:
        print("refused")
"""


def test_the_orm_writes_no_snippets(service: Service, people: Any, name: str) -> None:
    make(people.alice, name)
    assert (
        service.manage("shell", "--no-imports", "-c", WRITES.replace("NAME", name)).split() == ["refused"] * 4
    )


def test_the_studio_has_its_pages(service: Service, people: Any, name: str) -> None:
    make(people.alice, f"{name}-first", "a zebra")
    with visiting(service.url) as alice:
        assert alice.sign_in("alice", PASSWORD)
        snippets = "/studio/toy_kind/snippet"

        def text(path: str) -> str:
            answer = alice.get(path)
            assert answer.status == 200, path
            return unescape(answer.markup)

        def post(path: str, **form: str) -> int:
            return alice.post(path, form).status

        assert "Snippets" in text("/studio/") and f"{name}-first" in text(f"{snippets}/")
        assert "New snippet" in text(f"{snippets}/add/")
        assert post(f"{snippets}/add/", name="Greeting", id=name, workspace="acme", text="print(1)") == 302
        page = text(f"{snippets}/{name}/change/")
        assert "Source" in page and "What people copy." in page and "/preview/" not in page
        version = SNIPPETS.versions(people.alice, name)[0]
        SNIPPETS.save(people.alice, name, "print(2)")
        newest = SNIPPETS.versions(people.alice, name)[0]
        for page in ("history", "usage", "activity", "duplicate", "delete", "publish"):
            text(f"{snippets}/{name}/{page}/")
        assert "created this snippet" in text(f"{snippets}/{name}/activity/")
        compared = text(f"{snippets}/{name}/compare/?from={version['id']}&to={newest['id']}")
        assert "Source" in compared and "print(" in compared
        assert f"{name}-first" in text("/studio/search/?q=zebra")
        text("/studio/waiting/")
        assert "print(2)" in text(f"{snippets}/{name}/versions/{newest['id']}/")
