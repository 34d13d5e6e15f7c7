"""A new capability is an app, as docs/guides/build-an-extension.md shows; that app runs in a real service.

Without its line in the settings the service works as before, and shows the app's entries in the log.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.api import AGENTS, PROMPT_BLOCKS, Answer, Api
from tests.support.pages import blocks
from tests.support.remote import connected
from tests.support.runs import ECHO
from tests.support.served import ask, reference
from tests.support.service import ROOT, Service, running_service
from tests.support.studio import visiting
from versioning.domain.events import Audience, EventSubject, EventType, declare, types

pytestmark = pytest.mark.processes

PAGE = ROOT / "docs/guides/build-an-extension.md"
SETTINGS = """
from editor_project.settings import *
INSTALLED_APPS += ["pilots"]
"""
PILOT = {"pilot": True}
PILOTS = "/studio/versioning/workspace/default/pilots/"
PASSWORD = "a long enough password"
PERSON = f"""
from django.contrib.auth.models import User
from versioning.conf import get_editor
User.objects.create_user("{{name}}", password="{PASSWORD}")
from versioning.domain.access import Role
get_editor().workspace.set_role("default", "{{name}}", Role("{{role}}"))
"""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service with its worker, in a project with the application of the page."""
    project = tmp_path_factory.mktemp("project")
    (project / "pilots/templates/pilots").mkdir(parents=True)
    apps, seams, pages = (block.text for block in blocks(PAGE) if block.language == "python")
    modules = {"__init__": "", "apps": apps, "seams": seams, "pages": pages}
    for name, text in modules.items():
        (project / f"pilots/{name}.py").write_text(text)
    [template] = (block.text for block in blocks(PAGE) if block.language == "text")
    (project / "pilots/templates/pilots/pilots.html").write_text(template.partition("\n")[2])
    (project / "own_settings.py").write_text(SETTINGS)
    own = {"DJANGO_SETTINGS_MODULE": "own_settings", "PYTHONPATH": str(project), "EDITOR_WORKER": "on"}
    with running_service(tmp_path_factory.mktemp("service"), **own) as running:
        yield running


@pytest.fixture(scope="module")
def drafts(service: Service) -> dict[str, str]:
    """A published agent that shows a published prompt block, and the ids of a newer draft of each."""
    with connected(service) as api:
        PROMPT_BLOCKS.make(api, "tone", "Be brief.", workspaceId="default", autoPublish=True)
        AGENTS.make(api, "writer", [reference("tone")], workspaceId="default", autoPublish=True, model=ECHO)
        texts: dict[str, Any] = {"writer": [{"type": "text", "content": "New."}, reference("tone")]}
        made = {"writer": AGENTS.save(api, "writer", texts["writer"]), "tone": block_of(api, "Be kind.")}
        return {name: str(record["latestVersionId"]) for name, record in made.items()}


def version_page(resource_id: str, drafts: dict[str, str]) -> str:
    kind = {"writer": "agent", "tone": "promptblock"}[resource_id]
    return f"/studio/versioning/{kind}/{resource_id}/versions/{drafts[resource_id]}/"


def block_of(api: Api, text: str) -> dict[str, Any]:
    return PROMPT_BLOCKS.save(api, "tone", text)


def text_of(api: Api, context: Any = None) -> str:
    answer = ask(api, "writer", context)
    assert answer.status == 200, answer.body
    return str(answer.body["instructions"])


def release(api: Api, drafts: dict[str, str]) -> list[Answer]:
    """Release the label of a pilot on both drafts."""
    urls = {
        "writer": AGENTS.url("writer", "labels", "pilot"),
        "tone": PROMPT_BLOCKS.url("tone", "labels", "pilot"),
    }
    return [api.put(url, {"versionId": drafts[name], "released": True}) for name, url in urls.items()]


def events_of(api: Api, event_type: str) -> list[dict[str, Any]]:
    return list(api.get("/events", type=event_type).body["events"])


def test_the_gate_asks_the_application(service: Service, drafts: dict[str, str]) -> None:
    with connected(service) as api:
        made = AGENTS.make(api, "unfinished", "Say hello. lorem ipsum", workspaceId="default")
        activate = AGENTS.url("unfinished", "versions", made["latestVersionId"], "activate")
        answer = api.post(activate)
        assert (answer.status, answer.code, answer.body["error"]) == (
            403,
            "unfinished",
            "There is filler text in it.",
        )
        assert api.get(AGENTS.url("unfinished")).body["status"] == "draft"
        finished = AGENTS.save(api, "unfinished", "Say hello.")["latestVersionId"]
        AGENTS.publish(api, "unfinished", finished)


def test_the_choice_of_versions_asks_the_application_for_each_context(
    service: Service, drafts: dict[str, str]
) -> None:
    with connected(service) as api:
        assert (text_of(api), text_of(api, PILOT)) == ("Be brief.", "Be brief.")
        assert [answer.status for answer in release(api, drafts)] == [200, 200]
        for context, text in ((None, "Be brief."), (PILOT, "New.\n\nBe kind."), ({"pilot": 1}, "Be brief.")):
            assert text_of(api, context) == text
        run = {"messages": "Hello", "requestContext": PILOT}
        assert api.post("/agents/writer/generate", run).body["resolvedVersions"] == {
            "writer": drafts["writer"]
        }


def test_the_studio_shows_its_page_to_people_with_the_right(service: Service, drafts: dict[str, str]) -> None:
    with connected(service) as api:
        release(api, drafts)
    for role, status in (("editor", 200), ("viewer", 403)):
        service.manage("shell", "--no-imports", "-c", PERSON.format(name=role, role=role))
        with visiting(service.url) as visitor:
            assert visitor.sign_in(role, PASSWORD)
            page = visitor.get(PILOTS)
            versions = {name: visitor.get(version_page(name, drafts)).markup for name in drafts}
            activity = visitor.get("/studio/versioning/workspace/default/activity/").markup
        assert page.status == status
        assert ("<li>writer</li>" in page.markup) == (PILOTS in activity) == (status == 200)
        for text in versions.values():
            assert text.count("<p>Pilots get this version.</p>") == (status == 200)


def test_the_worker_reads_and_writes_the_log_and_without_the_application_all_works_as_before(
    service: Service, drafts: dict[str, str]
) -> None:
    with connected(service) as api:
        release(api, drafts)
        assert events_of(api, "pilot.*") == []
        AGENTS.publish(api, "writer", drafts["writer"])
        published = events_of(api, "agent.published")[-1]["position"]
        until = time.monotonic() + 60
        while not (found := events_of(api, "pilot.ended")):
            assert time.monotonic() < until, service.log
            time.sleep(0.1)
        [ended] = found
        assert (ended["label"], ended["workspaceId"]) == ("pilot", "default")
        assert ended["detail"] == {"published": published} and ended["position"] > published
        time.sleep(3)  # three turns of the job, which do not tell it again
        assert events_of(api, "pilot.ended") == [ended]
    service.stop()
    del service.environment["DJANGO_SETTINGS_MODULE"]
    service.start()
    with connected(service) as api:
        assert text_of(api, PILOT) == text_of(api)
        unfinished = AGENTS.make(api, "plain", "lorem ipsum", workspaceId="default")["latestVersionId"]
        AGENTS.publish(api, "plain", unfinished)
        assert api.get("/events", type="pilot.ended").fields == ["type"]
        assert ended in api.get("/events").body["events"]
    service.manage("shell", "--no-imports", "-c", PERSON.format(name="another", role="editor"))
    with visiting(service.url) as visitor:
        assert visitor.sign_in("another", PASSWORD)
        assert visitor.get(PILOTS).status == 404
        assert PILOTS not in visitor.get("/studio/versioning/workspace/default/activity/").markup
    service.manage("work", "--once")


@pytest.mark.parametrize(
    ("subject", "name"), [("agent", "published"), ("my_app", "done"), ("mine", "x" * 60)]
)
def test_an_event_type_that_is_taken_or_cannot_be_filtered_is_refused(subject: str, name: str) -> None:
    before = dict(types())
    with pytest.raises(ValueError, match=subject):
        declare(EventSubject(name=subject, audience=Audience.ADMINS, types=[EventType(name=name)]))
    assert types() == before
