"""Without a capability in INSTALLED_APPS the service works, and only that capability is missing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from importlib import import_module
from itertools import permutations
from typing import Any

import pytest
from django.utils.module_loading import import_string

from tests.support.api import AGENTS, PROMPT_BLOCKS, Api
from tests.support.openapi import ROUTES, operations
from tests.support.remote import connected
from tests.support.service import Service, running_service
from tests.support.studio import page_of, visiting
from tests.support.studio_cast import PASSWORD, make_cast
from versioning.capabilities import EditorApp, list_installed
from versioning.editor import gate
from versioning.models import VersionedResource

pytestmark = pytest.mark.processes

WORKSPACE = "/studio/versioning/workspace/acme"
PAGES = ("/studio/", "/studio/waiting/", f"{WORKSPACE}/members/", f"{WORKSPACE}/activity/")
WORDS = {
    "capabilities.accounts": "service account",
    "capabilities.delivery": "webhook",
    "capabilities.rollouts": "rollout",
    "capabilities.releases": "/releases/",
}
"""What no page says without a capability, if not its name: labels are released, evaluations experiments."""
NEEDED = {"editor_project", "studio", "versioning"}
CAPABILITIES = {app.name: app for app in list_installed() if app.name not in NEEDED}


def named(app: EditorApp, attribute: str) -> list[Any]:
    """Return the names that an application declares."""
    paths = getattr(app, attribute)
    found = [import_string(path) for path in ([paths] if isinstance(paths, str) else paths)]
    return [one for value in found for one in (value if isinstance(value, Sequence) else [value])]


def capability(name: str) -> str:
    """Return the folder of a capability below `capabilities/`."""
    return name.rpartition(".")[2]


LEFT_OUT: list[set[str]] = [
    {f"capabilities.{name}" for name in names.split()}
    for names in (
        "accounts mail releases schedules",
        "delivery rollouts schedules",
        "accounts delivery evaluation",
        "evaluation mail review rollouts",
        "releases review schedules",
    )
]
LEFT_OUT.append({*CAPABILITIES})
"""What projects have left out: with a few of them, each capability was once missing beside each other one."""


def test_each_capability_is_left_out_beside_each_other_one() -> None:
    for gone, stays in permutations(CAPABILITIES.values(), 2):
        apart = [one for one in LEFT_OUT if gone.name in one and stays.name not in one]
        assert apart or gone.name in stays.needs, f"add {gone.name} to a set of LEFT_OUT without {stays.name}"
    for names in LEFT_OUT:
        for app in CAPABILITIES.values():
            needed = {app.needs} if isinstance(app.needs, str) else {*app.needs}
            assert app.name in names or not names & needed


@pytest.fixture(
    scope="module",
    params=LEFT_OUT,
    ids=lambda names: " ".join(sorted(map(capability, names))),
)
def removed(request: pytest.FixtureRequest) -> list[EditorApp]:
    """The applications that a project has left out."""
    return [app for app in CAPABILITIES.values() if app.name in request.param]


@pytest.fixture(scope="module")
def service(removed: list[EditorApp], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service of such a project."""
    folder = tmp_path_factory.mktemp("without")
    gone = sorted(app.name for app in removed)
    settings = (
        "from editor_project.settings import *\n"
        f"INSTALLED_APPS = [name for name in INSTALLED_APPS if name not in {gone}]\n"
        f"MIDDLEWARE = [name for name in MIDDLEWARE if '.'.join(name.split('.')[:2]) not in {gone}]\n"
    )
    (folder / "own_settings.py").write_text(settings)
    own = {"DJANGO_SETTINGS_MODULE": "own_settings", "PYTHONPATH": str(folder)}
    with running_service(folder, **own) as running:
        yield running


@pytest.fixture(scope="module")
def alice(service: Service) -> Iterator[Api]:
    """An admin, with a published agent and a published prompt block that have drafts."""
    with connected(service, make_cast(service)["alice"]) as api:
        for kind in (AGENTS, PROMPT_BLOCKS):
            kind.make(api, "writer", workspaceId="acme", autoPublish=True)
            kind.publish(api, "writer", kind.save(api, "writer")["latestVersionId"])
            kind.save(api, "writer", "three")
        yield api


def test_the_api_lacks_its_routes_events_and_options_and_nothing_else(
    alice: Api, removed: list[EditorApp], service: Service
) -> None:
    added = [str(url.pattern) for app in removed if app.api for url in import_module(app.api).urlpatterns]
    kinds = [one.kind for app in removed for one in app.get_models() if issubclass(one, VersionedResource)]
    added += [f"stored/{kind.path}\\b" for kind in kinds]
    gone = {one for one in ROUTES if any(re.match(url, one.partition(" /")[2]) for url in added)}
    document = alice.request("GET", "/schema", ACCEPT="application/json").body
    assert bool(gone) == any(app.api for app in removed)
    assert sorted(operations(document)) == sorted(set(ROUTES) - gone)
    for route in gone:
        assert alice.get(route.partition(" ")[2].replace("{}", "x")).status == 404, route
    checks = [check for app in removed for check in named(app, "checks")]
    assert not [one for one in options(checks) if f'"{one.member}"' in str(document).replace("'", '"')]
    described = document["components"]["schemas"]["ErrorAnswer"]["properties"]
    for members in (members for app in removed for members in named(app, "error_members")):
        assert not {field.alias for field in members.model_fields.values()} & set(described)
    for subject in (subject for app in removed for subject in named(app, "events")):
        assert alice.get("/events", type=f"{subject.name}.*").fields == ["type"]
    service.manage("work", "--once")


def options(checks: list[gate.Check]) -> list[gate.Option]:
    """Return the options that checks understand."""
    return [option for check in checks for option in check.options.values()]


def test_the_studio_lacks_its_pages_and_no_other_page_mentions_it(
    alice: Api, removed: list[EditorApp], service: Service
) -> None:
    pages = [*PAGES]
    for kind in (AGENTS, PROMPT_BLOCKS):
        pages += [page_of(kind, page) for page in ("change", "history", "compare", "publish")]
    words = re.compile(
        "|".join(
            rf"(?<![a-z]){WORDS.get(app.name, capability(app.name).removesuffix('s'))}" for app in removed
        ),
        re.IGNORECASE,
    )
    with visiting(service.url) as visitor:
        assert visitor.sign_in("alice", PASSWORD)
        for page in pages:
            seen = visitor.get(page)
            assert seen.status == 200, page
            assert not words.search(re.sub(r"<(script|style|link)\b.*?>", "", seen.markup)), page
        for tab in (tab for app in removed for one in named(app, "studio") for tab in one.tabs):
            assert visitor.get(f"{WORKSPACE}/{tab.page.replace('_', '-')}/").status == 404
