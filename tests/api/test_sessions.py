"""A signed-in person uses the API like a key does, and writes with the CSRF token only."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from rest_framework.test import APIClient

from tests.conftest import Cast
from tests.support.api import Api, Kind
from tests.support.calls import make_history
from tests.support.people import give_role

SIGN_IN = "/studio/login/"


def browser(name: str) -> Api:
    api = Api("", client=Client(enforce_csrf_checks=True, raise_request_exception=False))
    api.client.get(SIGN_IN)
    api.client.force_login(User.objects.get(username=name))
    return api


def token(api: Api) -> str:
    return api.client.cookies["csrftoken"].value


def test_a_signed_in_person_reads_and_writes_by_role(cast: Cast, kind: Kind) -> None:
    make_history(kind, cast.alice)
    for who, draft_status in (("vera", 403), ("edgar", 200), ("root", 200)):
        person = browser(who)
        assert person.get(kind.url("writer")).body[kind.text] == "published words"
        assert person.get(kind.path).body["total"] == 1
        assert person.get(kind.url("writer"), status="draft").status == draft_status
    assert browser("charlie").get(kind.url("writer")).status == 404
    vera = browser("vera")
    answer = vera.patch(kind.url("writer"), {"name": "Renamed"}, x_csrftoken=token(vera))
    assert (answer.status, answer.code) == (403, "forbidden")


def test_a_write_with_the_csrf_token_is_attributed_to_the_person(cast: Cast, kind: Kind) -> None:
    person = browser("edgar")
    answer = person.post(kind.path, kind.body(id="writer"), x_csrftoken=token(person))
    assert (answer.status, answer.body["authorId"]) == (201, "edgar")
    renamed = person.patch(kind.url("writer"), {"name": "Renamed"}, x_csrftoken=token(person))
    assert (renamed.status, renamed.body["name"]) == (200, "Renamed")


def test_a_key_beside_a_session_acts_for_its_owner_and_needs_no_token(cast: Cast, kind: Kind) -> None:
    person = browser("edgar")
    assert person.post(kind.path, kind.body(id="refused")).status == 403
    person.key = cast.alice.key
    answer = person.post(kind.path, kind.body(id="writer", workspaceId="acme"))
    assert (answer.status, answer.body["authorId"]) == (201, "alice")


def test_a_user_forced_by_a_test_of_a_project_is_the_caller(cast: Cast, kind: Kind) -> None:
    client = APIClient()
    address, body = f"/api{kind.path}", kind.body(id="writer")
    for name, status in (("vera", 403), ("charlie", 403), ("edgar", 201)):
        client.force_authenticate(User.objects.get(username=name))
        assert client.post(address, {**body, "workspaceId": "acme"}, format="json").status_code == status
    assert client.get(f"{address}/writer", {"status": "draft"}).json()["authorId"] == "edgar"
    client.force_authenticate(User.objects.get(username="alice"))
    issued = client.post("/api/keys", {"name": "of the test", "workspaceId": "acme"}, format="json")
    assert issued.status_code == 201 and client.get("/api/me").json()["username"] == "alice"
    client.force_authenticate(None)
    assert client.get(address).status_code == 401


@pytest.mark.parametrize("given", [{}, {"x_csrftoken": "x" * 32}], ids=["no token", "a wrong token"])
def test_a_write_without_the_csrf_token_is_refused_and_saves_nothing(
    cast: Cast, kind: Kind, given: dict[str, str]
) -> None:
    make_history(kind, cast.alice)
    before = cast.alice.get(kind.url("writer"), status="draft").body
    person = browser("alice")
    for answer in (
        person.post(kind.path, kind.body(id="other"), **given),
        person.patch(kind.url("writer"), {"name": "Renamed"}, **given),
        person.put(kind.url("writer", "labels", "x"), {"versionId": before["activeVersionId"]}, **given),
        person.post(kind.url("writer", "unpublish"), **given),
        person.delete(kind.url("writer"), **given),
    ):
        assert (answer.status, answer.code) == (403, "forbidden")
    assert cast.alice.get(kind.url("writer"), status="draft").body == before
    assert cast.alice.get(kind.path, status="all").body["total"] == 1


def test_a_key_takes_precedence_over_a_session(cast: Cast, kind: Kind) -> None:
    make_history(kind, cast.alice)
    person = browser("alice")
    person.key = cast.vera.key
    assert person.get(kind.url("writer"), status="draft").status == 403
    person.key = cast.edgar.key
    assert person.patch(kind.url("writer"), {"name": "Without a token"}).status == 200
    person.key = "ek_unknown"
    assert person.get(kind.url("writer")).status == 401


def test_a_session_of_the_studio_gives_access_to_the_api_until_sign_out(cast: Cast, kind: Kind) -> None:
    root = User.objects.get(username="root")
    root.set_password("a long password")
    root.save()
    person = Api("", client=Client(enforce_csrf_checks=True))
    assert person.get(kind.path).status == 401
    person.client.get(SIGN_IN)
    form = {"username": "root", "password": "a long password", "csrfmiddlewaretoken": token(person)}
    assert person.client.post(SIGN_IN, form).status_code == 302
    assert person.get(kind.path).status == 200
    body = kind.body(id="writer", workspaceId="acme")
    assert person.post(kind.path, body, x_csrftoken=token(person)).body["authorId"] == "root"
    person.client.logout()
    assert person.get(kind.path).status == 401


def test_deactivating_a_person_ends_the_session(cast: Cast, kind: Kind) -> None:
    person = browser("alice")
    assert person.get(kind.path).status == 200
    User.objects.filter(username="alice").update(is_active=False)
    assert person.get(kind.path).status == 401


def test_a_change_of_role_applies_from_the_next_request(cast: Cast, kind: Kind) -> None:
    make_history(kind, cast.alice)
    person = browser("vera")
    assert person.get(kind.url("writer"), status="draft").status == 403
    give_role("vera", "acme", "editor")
    assert person.get(kind.url("writer"), status="draft").status == 200
