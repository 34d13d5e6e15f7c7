"""Declarations of applications are checked at the start: a fault is reported there, and not in a request."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.urls import path as route

from capabilities.releases.verbs import Releases
from editor_project.environment import Environment
from versioning import capabilities
from versioning.api.base import EditorViewSet
from versioning.api.urls import added_routes, missing
from versioning.capabilities import EditorApp
from versioning.conf import Setting, apply_default, declare, declared_settings, get_editor
from versioning.verbs import Verbs

FAULTS: dict[str, Any] = dict.fromkeys(
    (
        "settings",
        "events",
        "checks",
        "selectors",
        "choice",
        "keeps_versions",
        "follows",
        "jobs",
        "error_members",
        "notifications",
        "studio",
    ),
    "builtins.int",
)


def test_an_unusable_declaration_stops_the_start_with_a_clear_message() -> None:
    others = [("checks", "capabilities.review.policy.none.CHECK"), ("jobs", "review.NONE")]
    for attribute, path in [*FAULTS.items(), *others]:
        app = type("Faulty", (EditorApp,), {attribute: path})("faulty", sys.modules["capabilities.review"])
        with pytest.raises(ImproperlyConfigured, match=f"faulty declares {attribute} = '{path}': ."):
            app.ready()


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"needs": "nothing"}, "needs = 'nothing': it is not in INSTALLED_APPS"),
        ({"cheks": "review.CHECK"}, "cheks = 'review.CHECK': .* no such attribute, did you mean 'checks'?"),
        ({"notices": ["review.A", "review.B"]}, "notices = .*: an EditorApp has no such attribute"),
        ({"seed": {"review.register": "review.A"}}, "seed = .*: an EditorApp has no such attribute"),
    ],
)
def test_an_attribute_that_declares_nothing_stops_the_start_before_models(
    members: dict[str, Any], said: str
) -> None:
    derived = type("Derived", (type("Faulty", (EditorApp,), members),), {"label": "faulty", "_own": "text"})
    with pytest.raises(ImproperlyConfigured, match=f"The application faulty declares {said}"):
        derived("faulty", sys.modules["capabilities.review"]).import_models()


def test_every_application_of_ours_declares_what_there_is() -> None:
    for app in capabilities.list_installed():
        app.import_models()


def test_a_route_below_the_resources_stops_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capabilities, "routes", lambda: [route("stored/agents/<id>/pilots", missing)])
    with pytest.raises(ImproperlyConfigured, match="stored/agents/<id>/pilots"):
        list(added_routes())


def test_a_route_with_a_part_that_its_view_does_not_describe_stops_the_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class PilotsView(EditorViewSet):
        subject = "pilot"

    def added() -> Any:
        views = [
            route("pilots/<id>/<place>", PilotsView.as_view({"get": "retrieve"})),
            route("pilots", missing),
        ]
        monkeypatch.setattr(capabilities, "routes", lambda: views)
        return list(added_routes()) == views

    with pytest.raises(ImproperlyConfigured, match=r"PilotsView does not describe the part <place> .* paths"):
        added()
    PilotsView.paths = {"place": ({"type": "string"}, "The place of the {}.")}
    assert added()


def test_settings_of_applications_are_read_like_those_of_the_project(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(Environment.ENVIRON, "EDITOR_PILOTS", "5")
    apply_default(Setting("EDITOR_PILOTS", 3, "how many pilots there are"))
    assert settings.EDITOR_PILOTS == 5
    del settings.EDITOR_PILOTS


def test_a_setting_of_a_kind_that_cannot_be_read_is_refused_at_the_start() -> None:
    wrong = Setting("EDITOR_PILOTS", {}, "the pilots by name")
    with pytest.raises(ValueError, match=r"EDITOR_PILOTS has the kind dict; allowed kinds: bool, int, float"):
        declare(wrong)
    assert wrong not in declared_settings()


def test_verbs_are_typed_while_their_application_is_installed() -> None:
    assert Releases.current() is get_editor().releases
    with pytest.raises(LookupError, match="Verbs"):
        Verbs.current()
