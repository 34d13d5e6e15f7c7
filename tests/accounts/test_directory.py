"""The company's directory makes, changes and switches off accounts by SCIM."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from scim2_client.engines.wsgi import WSGISCIMClient
from scim2_tester import Status, check_server

from capabilities.accounts.models import Kind, OpenSession, SecondFactor
from capabilities.accounts.sign_in.factors import totp
from editor_project.wsgi import application
from tests.conftest import Cast
from tests.support.people import give_role, key_of
from tests.support.studio import Visitor
from versioning.domain.access import Action
from versioning.models import ApiKey, Membership

pytestmark = pytest.mark.django_db

USER = "urn:ietf:params:scim:schemas:core:2.0:User"
ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"
SEARCH = "urn:ietf:params:scim:api:messages:2.0:SearchRequest"
PATCH = "urn:ietf:params:scim:api:messages:2.0:PatchOp"
ERROR = "urn:ietf:params:scim:api:messages:2.0:Error"


@dataclass
class Directory:
    """A directory with a key."""

    key: str

    def send(self, method: str, path: str, body: Any = None, **query: str) -> tuple[int, Any]:
        """Send a request; return the status and the body of the answer."""
        client = Client(raise_request_exception=False)
        answer = client.generic(
            method,
            f"/scim/v2/{path}",
            "" if body is None else json.dumps(body),
            content_type="application/scim+json",
            query_params=query,
            headers={"Authorization": f"Bearer {self.key}"},
        )
        assert answer["Cache-Control"] == "private, no-store"
        if answer.status_code == 204:
            return 204, None
        assert answer["Content-Type"] == "application/scim+json"
        found = answer.json()
        if answer.status_code >= 400:
            assert found["schemas"] == [ERROR] and found["status"] == str(answer.status_code)
            assert found["detail"]
        return answer.status_code, found

    def patch(self, user_id: str, *operations: dict[str, Any]) -> tuple[int, Any]:
        return self.send("PATCH", f"Users/{user_id}", {"schemas": [PATCH], "Operations": list(operations)})

    def make(self, username: str, **more: Any) -> dict[str, Any]:
        status, made = self.send("POST", "Users", {"schemas": [USER], "userName": username, **more})
        assert status == 201, made
        return dict(made)


@pytest.fixture
def directory(cast: Cast) -> Directory:
    return Directory(key_of("root", actions=[Action.DIRECTORY]).key)


def id_of(name: str) -> str:
    return str(User.objects.get(username=name).pk)


def replaces(path: str, value: Any) -> dict[str, Any]:
    return {"op": "replace", "path": path, "value": value}


OFF = {"op": "replace", "path": "active", "value": False}


@pytest.mark.database
def test_only_keys_for_the_directory_are_let_in(cast: Cast, directory: Directory) -> None:
    assert Directory("").send("GET", "Users")[0] == 401
    for key in (cast.root.key, key_of("root", actions=[Action.ADMIN, Action.READ]).key, cast.alice.key):
        assert Directory(key).send("GET", "Users")[0] == 403
        assert Directory(key).send("GET", "ServiceProviderConfig")[0] == 403
    User.objects.filter(username="root").update(is_superuser=False)
    assert directory.send("GET", "Users")[0] == 403


def test_a_user_is_made_found_changed_and_deleted(directory: Directory) -> None:
    made = directory.make(
        "ida",
        externalId="e-1",
        name={"givenName": "Ida", "familyName": "Noddack"},
        emails=[{"value": "home@example.com"}, {"value": "ida@example.com", "primary": True}],
        locale="de",
    )
    assert (made["displayName"], made["active"], made["externalId"]) == ("Ida Noddack", True, "e-1")
    assert made["emails"] == [{"value": "ida@example.com", "type": "work", "primary": True}]
    assert not User.objects.get(username="ida").has_usable_password()
    for text in ('userName eq "IDA"', 'externalId eq "e-1"'):
        status, found = directory.send("GET", "Users", filter=text)
        assert (status, [one["id"] for one in found["Resources"]]) == (200, [made["id"]])
    address = f"Users/{made['id']}"
    assert directory.patch(made["id"], replaces("displayName", "I. N."))[1]["displayName"] == "I. N."
    assert directory.patch(made["id"], {"op": "Replace", "value": {"name.familyName": "X"}})[0] == 200
    assert directory.patch(made["id"], replaces('emails[type eq "work"].value', "i@example.com"))[0] == 200
    assert User.objects.get(username="ida").email == "i@example.com"
    status, put = directory.send("PUT", address, {"schemas": [USER], "userName": "ida", "active": True})
    assert status == 200 and not {"emails", "displayName", "name"} & put.keys()
    assert directory.send("DELETE", address)[0] == 204
    assert directory.send("GET", address)[0] == directory.patch(made["id"], OFF)[0] == 404
    assert directory.send("GET", "Users", filter='userName eq "ida"')[1]["totalResults"] == 0
    assert not User.objects.get(username="ida").is_active
    again = directory.make("ida")
    assert (again["id"], again["active"]) == (made["id"], True)
    told = [one.change_message for one in LogEntry.objects.filter(object_id=made["id"])]
    assert "has revived it (is_active), with the key" in told[0] and "has deleted it (is_active)" in told[1]


def test_it_answers_as_the_testers_of_scim_ask(directory: Directory) -> None:
    key = {"Authorization": f"Bearer {directory.key}"}
    results = check_server(WSGISCIMClient(application, "http://localhost/scim/v2", key))
    assert [(one.title, one.reason) for one in results if one.status is not Status.SUCCESS] == []
    assert {"object_creation", "search_with_attributes", "check_remove_attribute"} <= {
        one.title for one in results
    }


def test_only_the_attributes_that_are_wanted_are_returned(directory: Directory) -> None:
    ida = {
        "name": {"givenName": "Ida", "familyName": "N"},
        "emails": [{"value": "i@example.com", "type": "home"}],
    }
    made = directory.make("ida", **ida)
    address, always = f"Users/{made['id']}", {"schemas": [USER], "id": made["id"]}
    wanted = f"{USER}:userName,NAME.familyname,emails.type,unknown"
    shown = {**always, "userName": "ida", "name": {"familyName": "N"}, "emails": [{"type": "home"}]}
    assert directory.send("GET", address, attributes=wanted)[1] == shown
    few = directory.send("GET", address, excludedAttributes="id,emails,name.givenName,displayName,meta")[1]
    assert few == {**always, "userName": "ida", "name": {"familyName": "N"}, "active": True}
    assert directory.send("GET", address, attributes="active", excludedAttributes="name")[0] == 400
    body = {"schemas": [SEARCH], "filter": 'userName eq "ida"', "attributes": ["userName"], "count": 5}
    for path in ("Users/.search", ".search"):
        status, found = directory.send("POST", path, body)
        assert (status, found["Resources"]) == (200, [{**always, "userName": "ida"}])
    for wrong in (
        {"schemas": []},
        {"attributes": "userName"},
        {"filter": 1},
        {"count": True},
        {"count": 1.5},
    ):
        assert directory.send("POST", ".search", {**body, **wrong})[0] == 400


def test_lists_have_pages(directory: Directory) -> None:
    status, everybody = directory.send("GET", "Users")
    names = [one["userName"] for one in everybody["Resources"]]
    assert (status, everybody["totalResults"]) == (200, len(names))
    _, page = directory.send("GET", "Users", startIndex="2", count="2")
    assert [one["userName"] for one in page["Resources"]] == names[1:3]
    assert (page["startIndex"], page["itemsPerPage"], page["totalResults"]) == (2, 2, len(names))
    assert directory.send("GET", "Users", count="0")[1]["Resources"] == []


def test_who_is_switched_off_has_no_session_and_no_key_at_once(cast: Cast, directory: Directory) -> None:
    browser = Visitor()
    browser.client.force_login(User.objects.get(username="edgar"))
    assert browser.get("/api/me").status == cast.edgar.get("/me").status == 200
    assert directory.patch(id_of("edgar"), replaces("active", "False"))[1]["active"] is False
    assert browser.get("/api/me").status == cast.edgar.get("/me").status == 401
    assert not Session.objects.exists() and not OpenSession.objects.exists()
    directory.patch(id_of("edgar"), replaces("active", "True"))
    assert (browser.get("/api/me").status, cast.edgar.get("/me").status) == (401, 200)


def test_the_last_superuser_stays_and_a_last_admin_goes(
    directory: Directory, caplog: pytest.LogCaptureFixture
) -> None:
    for answer in (directory.patch(id_of("root"), OFF), directory.send("DELETE", f"Users/{id_of('root')}")):
        assert answer[0] == 409
    assert directory.patch(f"+{id_of('root')}", OFF)[0] == 404  # another way to write it
    assert User.objects.get(username="root").is_active
    with caplog.at_level(logging.WARNING, "capabilities.accounts.directory.accounts"):
        assert directory.patch(id_of("alice"), OFF)[0] == 200
    assert "acme" in caplog.text


def test_the_mail_of_a_superuser_with_a_password_stays(directory: Directory) -> None:
    root = User.objects.get(username="root")
    root.set_password("a long password")
    root.save()
    mine = [{"value": "attacker@example.com"}]
    assert directory.patch(str(root.pk), replaces("emails", mine))[0] == 409
    body = {"schemas": [USER], "userName": "root", "emails": mine}
    assert directory.send("PUT", f"Users/{root.pk}", body)[0] == 409
    assert User.objects.get(username="root").email == ""


def test_a_namesake_under_another_external_id_has_nothing_of_the_former(directory: Directory) -> None:
    made = directory.make("ida", externalId="e-1")
    give_role("ida", "acme", "admin")
    User.objects.filter(username="ida").update(is_superuser=True)
    key = key_of("ida")
    factor = SecondFactor(user=User.objects.get(username="ida"), kind=Kind.TOTP)
    factor.store({"secret": totp.new_secret(), "step": 0})
    assert directory.send("DELETE", f"Users/{made['id']}")[0] == 204
    assert directory.make("ida", externalId="e-2")["id"] == made["id"]
    ida = User.objects.get(username="ida")
    assert not ida.is_superuser and not Membership.objects.filter(user=ida).exists()
    assert key.get("/me").status == 401 and not SecondFactor.objects.exists()
    assert not ApiKey.objects.filter(owner=ida, revoked_at=None).exists()


def patched(*operations: dict[str, Any]) -> dict[str, Any]:
    """Return the body of a PATCH."""
    return {"schemas": [PATCH], "Operations": list(operations)}


def named(username: str, **more: Any) -> dict[str, Any]:
    """Return the body that makes or replaces a user."""
    return {"schemas": [USER], "userName": username, **more}


REFUSED: list[tuple[str, Any, int, str | None]] = [
    ("POST Users", {"schemas": [USER]}, 400, "invalidValue"),
    ("POST Users", named("alice"), 409, "uniqueness"),
    ("POST Users", named("Alice"), 409, "uniqueness"),
    ("POST Users", {**named("x"), "schemas": None}, 400, "invalidSyntax"),
    ("POST Users", named("a b\u0000"), 400, None),
    ("POST Users", named("x", emails=[{"value": "x"}]), 400, "invalidValue"),
    ("POST Users", named("x", emails=[{"value": "x@" + ".".join(["y" * 60] * 5)}]), 400, "invalidValue"),
    ("POST Users", named("x", active=1), 400, "invalidValue"),
    ("POST Users", [], 400, "invalidSyntax"),
    ("PATCH Users/{}", {"Operations": []}, 400, "invalidValue"),
    ("PATCH Users/{}", patched(), 400, "invalidSyntax"),
    ("PATCH Users/{}", patched({"op": "move"}), 400, "invalidSyntax"),
    ("PATCH Users/{}", {**patched(OFF), "schemas": 1}, 400, "invalidSyntax"),
    ("PATCH Users/{}", patched(replaces("role", 1)), 400, "invalidPath"),
    ("PATCH Users/{}", patched(replaces("roles[", 1)), 400, "invalidPath"),
    (
        "PATCH Users/{}",
        patched({"op": "add", "value": {"name": "V", "name.givenName": "V"}}),
        400,
        "invalidSyntax",
    ),
    ("PATCH Users/{}", patched(replaces("userName", "x")), 400, "mutability"),
    ("PUT Users/{}", named("x"), 400, "mutability"),
    ("GET Users/none", None, 404, None),
    ("GET Users/99999999999999999999", None, 404, None),
    ("GET Users/a%00b", None, 400, "invalidValue"),
    ("PATCH Users/%00", patched(OFF), 400, "invalidValue"),
    ("GET ResourceTypes/%00", None, 400, "invalidValue"),
    ("POST Users", named("x", externalId="a\u0000"), 400, "invalidSyntax"),
    ("POST Users", named("x", displayName="a\u0000"), 400, "invalidSyntax"),
    ("GET Groups", None, 404, None),
    ("DELETE Users", None, 405, None),
]


@pytest.mark.parametrize(("request_line", "body", "status", "kind"), REFUSED)
def test_refusals_have_the_form_of_scim(
    directory: Directory, request_line: str, body: Any, status: int, kind: str | None
) -> None:
    method, _, path = request_line.partition(" ")
    found, answer = directory.send(method, path.format(id_of("vera")), body)
    assert found == status
    if kind is not None:
        assert answer["scimType"] == kind


OF_DIRECTORIES = [
    *(
        "title",
        "phoneNumbers",
        "name.middleName",
        'phoneNumbers[type eq "work"].value',
        "roles[primary eq true].value",
    ),
    *('addresses[type eq "work"].streetAddress', f"{USER}:title", f"{ENTERPRISE}:department", ENTERPRISE),
]


def test_what_is_not_kept_here_is_ignored_as_in_a_whole_user(directory: Directory) -> None:
    others = [replaces(path, "x") for path in OF_DIRECTORIES]
    removed = {"op": "Remove", "path": f"{ENTERPRISE}:manager"}
    status, answer = directory.patch(id_of("vera"), *others, removed, replaces("name.givenName", "Vera"))
    assert (status, answer["displayName"]) == (200, "Vera"), answer


FILTERS = [
    r'userName eq "a\u0000b"',
    r'externalId eq "\u0000"',
    'userName eq "a\x00"',
    "userName",
    'userName co "a"',
    'id eq "1"',
    'userName eq "a" or active eq true',
]


@pytest.mark.parametrize("text", FILTERS)
def test_other_filters_are_refused(directory: Directory, text: str) -> None:
    status, answer = directory.send("GET", "Users", filter=text)
    assert (status, answer["scimType"]) == (400, "invalidFilter")


@pytest.mark.database
def test_what_no_account_can_have_finds_none(directory: Directory) -> None:
    for text in (r'userName eq "\ud800"', r'externalId eq "\ud800"', f'userName eq "{"a" * 100_000}"'):
        assert directory.send("GET", "Users", filter=text)[1]["totalResults"] == 0


def test_only_what_is_given_is_written(directory: Directory) -> None:
    with CaptureQueriesContext(connection) as captured:
        assert directory.patch(id_of("vera"), replaces("displayName", "Vera V"))[0] == 200
    [update] = [one["sql"] for one in captured.captured_queries if 'UPDATE "auth_user"' in one["sql"]]
    assert "first_name" in update and "password" not in update and "is_active" not in update


def test_what_the_service_can_do(directory: Directory) -> None:
    assert directory.send("GET", "ServiceProviderConfig")[1]["patch"] == {"supported": True}
    assert directory.send("GET", "ResourceTypes")[1]["Resources"][0]["endpoint"] == "/Users"
    assert directory.send("GET", f"Schemas/{USER}")[1]["name"] == "User"
    assert directory.send("GET", "Schemas")[1]["totalResults"] == 1
