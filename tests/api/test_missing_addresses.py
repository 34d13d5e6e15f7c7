"""What callers are told who have no key, or the wrong address."""

from __future__ import annotations

from importlib import import_module

import pytest

from tests.support.api import Api
from versioning import capabilities
from versioning.conf import get_editor
from versioning.domain.kinds import KINDS


def test_an_address_that_no_route_has_is_not_a_missing_agent(alice: Api) -> None:
    for path in ("/agent", "/", "/agents/", "/stored", "/nothing/like/this", "/events/x", "/releases/"):
        answer = alice.get(path)
        assert (answer.status, answer.code) == (404, "no_such_address"), path
    told = answer.body["error"]
    for path in ("/agents/gone", "/stored/agents/a/b/c", "/webhooks/x/y", "/datasets/x/nothing"):
        answer = alice.get(path)
        assert (answer.status, answer.code) == (404, "not_found"), path
        assert answer.body["error"] != told
    assert Api("").get("/agent").code == "no_such_address"
    assert Api("", prefix="").get("/agents").code == "no_such_address"


def test_an_application_that_the_settings_do_not_name_is_named(
    alice: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    optional = {"tests.toy_kind": ("toys",), "not_here": ("others",)}
    monkeypatch.setattr(capabilities, "OPTIONAL", optional)
    for path in ("/toys", "/toys/one/parts"):
        answer = alice.get(path)
        assert (answer.status, answer.code) == (404, "no_such_address")
        assert "'tests.toy_kind'" in answer.body["error"] and "INSTALLED_APPS" in answer.body["error"]
    assert "INSTALLED_APPS" not in alice.get("/others").body["error"]
    with pytest.raises(AttributeError, match=r"'tests.toy_kind': add that to INSTALLED_APPS"):
        get_editor().toys  # noqa: B018
    with pytest.raises(AttributeError, match=r"no attribute 'others'\.$"):
        get_editor().others  # noqa: B018


def test_what_an_application_has_that_can_be_left_out_is_known_as_its_own() -> None:
    for app in capabilities.list_installed():
        if app.verbs:
            assert set(app.verbs) <= set(capabilities.OPTIONAL[app.name])
        addresses = [str(one.pattern).removeprefix("^") for one in _routes_of(app.api)]
        addresses += [f"stored/{kind.path}" for kind in KINDS if kind.views.startswith(f"{app.name}.")]
        shared = {"workspaces/(?P<id>[^/]+)/review-policy\\Z"}  # below what another one has
        assert all(
            one.startswith(tuple(capabilities.OPTIONAL[app.name])) for one in addresses if one not in shared
        ), app


def _routes_of(module: str) -> list[object]:
    return list(import_module(module).urlpatterns) if module else []


def test_a_request_without_a_usable_header_is_told_what_it_lacks(alice: Api) -> None:
    wrong = {
        "": "Send an API key",
        alice.key: "must be 'Bearer'",
        f"Token {alice.key}": "must be 'Bearer'",
        "Bearer": "no API key after 'Bearer'",
        "Bearer ek_wrong": "unknown, expired or revoked",
    }
    for authorization, words in wrong.items():
        header = {"authorization": authorization} if authorization else {}
        answer = Api("").request("GET", "/agents", **header)
        assert (answer.status, answer.code) == (401, "unauthorized")
        assert words in answer.body["error"], authorization
        assert alice.key not in answer.body["error"]
        assert answer.headers["WWW-Authenticate"] == 'Bearer realm="editor"'
