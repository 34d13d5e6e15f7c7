"""The studio as Django's admin: permissions, accounts, and models that a project registers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from django.contrib.auth.admin import GroupAdmin
from django.contrib.auth.models import Group, Permission, User
from django.test import Client, RequestFactory
from django.urls import clear_url_caches, path

from studio import site
from tests.conftest import Cast
from tests.support.api import AGENTS, Kind
from tests.support.people import HOMES, key_of
from tests.support.studio import KINDS, Visitor
from tests.support.studio_cast import PASSWORD
from versioning.domain.access import LEAST_ROLE, Right
from versioning.models import Agent, Workspace

RESOURCES = {
    "view": Right.READ,
    "view_drafts": Right.READ_DRAFTS,
    "change": Right.SAVE,
    "publish": Right.PUBLISH,
    "delete": Right.PUBLISH,
}
WORKSPACES = {"view": Right.READ, "change": Right.ADMINISTER, "administer": Right.ADMINISTER, "delete": None}
ACCOUNTS = "/studio/auth/user/"


def permitted(name: str, model: Any, permission: str, obj: Any = None) -> bool:
    request = RequestFactory().get("/studio/")
    request.user = User.objects.get(username=name)
    arguments = () if permission == "add" else (obj,)
    return bool(getattr(site.get_model_admin(model), f"has_{permission}_permission")(request, *arguments))


def expected(name: str, right: Right | None) -> bool:
    workspace, role = HOMES.get(name, ("", None))
    is_here = workspace == "acme" and role is not None
    return right is not None and (name == "root" or (is_here and role.rank >= LEAST_ROLE[right].rank))


def test_roles_in_workspaces_are_the_permissions(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice, "writer", autoPublish=True)
    model, acme = KINDS[kind].model, Workspace.objects.get(pk="acme")
    writer = model.objects.get(pk="writer")
    for name in [*HOMES, "root"]:
        found = {permission: permitted(name, model, permission, writer) for permission in RESOURCES}
        assert found == {permission: expected(name, right) for permission, right in RESOURCES.items()}
        found = {permission: permitted(name, Workspace, permission, acme) for permission in WORKSPACES}
        assert found == {permission: expected(name, right) for permission, right in WORKSPACES.items()}
        assert permitted(name, model, "add") == (name != "vera")
        assert permitted(name, Workspace, "add") == (name == "root")


def test_djangos_permissions_and_actions_change_no_agent(cast: Cast) -> None:
    AGENTS.make(cast.alice, "writer", autoPublish=True)
    User.objects.get(username="vera").user_permissions.set(Permission.objects.all())
    vera, root = Visitor("vera"), Visitor("root")
    for window in (vera, root):
        window.post(
            "/studio/versioning/agent/", action="delete_selected", _selected_action="writer", post="yes"
        )
        window.post("/studio/versioning/agent/writer/change/", name="mine", _save="Save")
    assert vera.post("/studio/versioning/agent/writer/delete/", post="yes").status == 403
    assert [one.latest.config["name"] for one in Agent.objects.all()] == ["Writer"]
    query = {"app_label": "versioning", "model_name": "agent", "field_name": "workspace", "term": ""}
    assert Client().get("/studio/autocomplete/", query).status_code == 302
    assert {window.get("/studio/autocomplete/", **query).status for window in (vera, root)} == {404}


def test_only_superusers_see_accounts(cast: Cast) -> None:
    for one in User.objects.exclude(username="root"):
        one.is_staff = True
        one.save()
        one.user_permissions.set(Permission.objects.all())
    vera, before = User.objects.get(username="vera"), list(User.objects.order_by("pk").values())
    fields = {"username": "mallory", "password1": "a long one!", "password2": "a long one!", "post": "yes"}
    everything = {**fields, "action": "delete_selected", "_selected_action": vera.pk, "is_superuser": "on"}
    pages = ("", f"{vera.pk}/change/", f"{vera.pk}/password/", f"{vera.pk}/history/", "?q=v", "?o=1")
    for name in ("alice", "root"):
        window, status = Visitor(name), 200 if name == "root" else 403
        assert {window.get(f"{ACCOUNTS}{page}").status for page in pages} == {status}
        for page in ("add/", f"{vera.pk}/delete/"):
            address = f"{ACCOUNTS}{page}"
            assert [window.get(address).status, window.post(address, **fields).status] == [403] * 2
    for page in pages[:3]:
        assert Visitor("alice").post(f"{ACCOUNTS}{page}", **everything).status == 403
    Visitor("root").post(ACCOUNTS, action="delete_selected", _selected_action=str(vera.pk), post="yes")
    now = list(User.objects.order_by("pk").values())
    assert [one | {"last_login": None} for one in now] == [one | {"last_login": None} for one in before]


def test_deactivating_an_account_ends_its_keys_and_sessions(cast: Cast) -> None:
    root, edgar = Visitor("root"), Visitor("edgar")
    account = User.objects.get(username="edgar")
    key = key_of("edgar")
    assert (key.get("/agents").status, edgar.get("/studio/name/").status) == (200, 200)
    root.post(f"{ACCOUNTS}{account.pk}/change/", username="taken", email="", is_superuser="on", is_staff="on")
    account.refresh_from_db()
    assert (account.username, account.is_active, account.is_superuser) == ("edgar", False, True)
    assert account.is_staff is False
    assert (key.get("/agents").status, edgar.get("/studio/").status) == (401, 302)
    assert "Active" in root.get(f"{ACCOUNTS}{account.pk}/history/").text


def test_superusers_cannot_deactivate_themselves(cast: Cast) -> None:
    root, own = Visitor("root"), User.objects.get(username="root")
    root.post(f"{ACCOUNTS}{own.pk}/change/", first_name="Rita")
    own.refresh_from_db()
    assert (own.first_name, own.is_active, own.is_superuser) == ("Rita", True, True)


def test_a_password_that_a_superuser_sets_ends_the_sessions(cast: Cast) -> None:
    root, edgar = Visitor("root"), Visitor("edgar")
    account, own = (User.objects.get(username=name) for name in ("edgar", "root"))
    new = {"password1": "an even longer one", "password2": "an even longer one", "usable_password": "true"}
    assert root.post(f"{ACCOUNTS}{account.pk}/password/", **new).status == 302
    account.refresh_from_db()
    assert account.check_password("an even longer one")
    assert edgar.get("/studio/").status == 302
    answer = root.post(f"{ACCOUNTS}{own.pk}/password/", **new)
    assert answer.headers["Location"] == "/studio/password_change/"  # which requires the old password
    own.refresh_from_db()
    assert not own.check_password("an even longer one")


def test_the_pages_about_an_account_are_german_and_show_no_hash(cast: Cast) -> None:
    vera, root = User.objects.get(username="vera"), Visitor("root")
    vera.set_password(PASSWORD)
    vera.save()
    root.client.defaults["HTTP_ACCEPT_LANGUAGE"] = "de"
    pages = {page: root.get(f"{ACCOUNTS}{vera.pk}/{page}/") for page in ("change", "password", "history")}
    said = {page: seen.text for page, seen in pages.items()}
    assert "Noch keine Änderungen." in said["history"] and "Änderungen: vera" in said["history"]
    assert "dasselbe Passwort" in said["password"] and "auf anderem Weg" in said["password"]
    assert "Speichern und weiter bearbeiten" in pages["change"].markup
    assert "Ein Passwort ist festgelegt." in said["change"]
    for seen in pages.values():
        assert "Zugang" in seen.text and "Konten" in seen.text
        for old in ("Benutzer ", "Administrator", "Autorisierung", " user", "Sichern", "None"):
            assert old not in seen.text.replace("Benutzername ", "")
        assert not any(part[:6] in seen.markup for part in vera.password.split("$")[2:])


def test_the_focus_is_on_the_password_that_does_not_match(cast: Cast) -> None:
    vera, root = User.objects.get(username="vera"), Visitor("root")
    form = {"password1": "an even longer one", "password2": "another long one", "usable_password": "true"}
    markup = root.post(f"{ACCOUNTS}{vera.pk}/password/", **form).markup
    [focused] = re.findall(r"<input[^>]* autofocus[^>]*>", markup)
    assert 'name="password2"' in focused
    account = User.objects.get(username="root")
    account.set_password(PASSWORD)
    account.save()
    root = Visitor("root")
    own = {"old_password": PASSWORD, "new_password1": "an even longer one", "new_password2": "another one"}
    markup = root.post("/studio/password_change/", **own).markup
    [focused] = re.findall(r"<input[^>]* autofocus[^>]*>", markup)
    assert 'name="new_password2"' in focused


@pytest.fixture
def groups(cast: Cast, settings: Any) -> Iterator[str]:
    """Register a model, as a project does; return where its pages are."""
    site.register(Group, GroupAdmin)
    urls: Any = ModuleType("urls_of_a_project")
    from editor_project.urls import urlpatterns  # noqa: PLC0415

    urls.urlpatterns = [path("studio/", site.urls), *urlpatterns]
    settings.ROOT_URLCONF = urls
    clear_url_caches()
    yield "/studio/auth/group/"
    site.unregister(Group)
    clear_url_caches()


def test_the_pages_of_a_projects_model_are_in_the_studio(cast: Cast, groups: str) -> None:
    vera, edgar = Visitor("vera"), Visitor("edgar")
    allowed = Permission.objects.filter(content_type__model="group")
    User.objects.get(username="vera").user_permissions.set(allowed)
    assert vera.post(f"{groups}add/", name="tellers").headers["Location"] == groups
    group = Group.objects.get(name="tellers")
    assert "was added successfully" in vera.get("/studio/name/").markup
    pages = ("", "add/", f"{group.pk}/change/", f"{group.pk}/delete/", f"{group.pk}/history/")
    for page in pages:
        seen = vera.get(f"{groups}{page}")
        assert (seen.status, "Sign out" in seen.markup, "Content-Security-Policy" in seen.headers) == (
            200,
            True,
            True,
        )
        assert 'id="user-tools"' not in seen.markup and "style=" not in seen.markup, page
        assert f'href="{groups}"' in seen.markup
        assert edgar.get(f"{groups}{page}").status == 403
    assert groups not in edgar.get("/studio/name/").markup
    assert vera.post(f"{groups}{group.pk}/change/", name="clerks").status == 302
    assert edgar.post(f"{groups}{group.pk}/change/", name="mine").status == 403
    assert edgar.post(f"{groups}{group.pk}/delete/", post="yes").status == 403
    assert [one.name for one in Group.objects.all()] == ["clerks"]
    vera.post(groups, action="delete_selected", _selected_action=str(group.pk), post="yes")
    assert not Group.objects.exists()
    assert vera.get("/studio/jsi18n/").status == 200
