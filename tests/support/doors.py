"""Every way to publish or release a version, listed once: new ones have to be added here.

Each is tried on the resource `writer`, of which a draft is about to go live. Over HTTP and in the studio
alice tries it, in Python the application. With a reason she bypasses the review.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.conftest import Cast
from tests.support.api import Answer, Kind
from tests.support.studio import KINDS, PageResponse, Visitor, page_of
from versioning.conf import get_editor
from versioning.editor import Collection

DRAFT = "three"
"""The text of the draft; doors that save make this the text."""

Reason = str | None
OverHttp = Callable[[Cast, Kind, str, Reason], Answer]
InPython = Callable[[Kind, str, Reason], Any]
InTheStudio = Callable[[Kind, str, Reason], PageResponse]


def make_draft(cast: Cast, kind: Kind) -> str:
    """Make a live `writer` with a released label on the live version; save a draft and return its id."""
    live = kind.make(cast.edgar, text="one")["latestVersionId"]
    kind.publish(cast.alice, "writer", live)
    body = {"versionId": live, "released": True}
    assert cast.alice.put(kind.url("writer", "labels", "stable"), body).status == 200
    return str(kind.save(cast.edgar, text=DRAFT)["latestVersionId"])


def verbs(kind: Kind) -> Collection[Any]:
    """Return the Python verbs of a kind."""
    return get_editor().collection(KINDS[kind])


def _bypass(reason: Reason) -> dict[str, Any]:
    return {} if reason is None else {"bypassReview": {"reason": reason}}


OVER_HTTP: dict[str, OverHttp] = {
    "activate": lambda cast, kind, draft, reason: cast.alice.post(
        kind.url("writer", "versions", draft, "activate"), _bypass(reason) or None
    ),
    "create": lambda cast, kind, _, reason: cast.alice.post(
        kind.path, kind.body(DRAFT, id="new", autoPublish=True, **_bypass(reason))
    ),
    "patch": lambda cast, kind, _, reason: cast.alice.patch(
        kind.url("writer"), {kind.text: DRAFT, "autoPublish": True, **_bypass(reason)}
    ),
    "release a label": lambda cast, kind, draft, reason: cast.alice.put(
        kind.url("writer", "labels", "beta"), {"versionId": draft, "released": True, **_bypass(reason)}
    ),
    "move a released label": lambda cast, kind, draft, reason: cast.alice.put(
        kind.url("writer", "labels", "stable"), {"versionId": draft, **_bypass(reason)}
    ),
}
IN_PYTHON: dict[str, InPython] = {
    "publish": lambda kind, draft, reason: verbs(kind).publish("writer", draft, bypass_review=reason),
    "create": lambda kind, _, reason: verbs(kind).create(
        {"name": "New", kind.text: DRAFT}, id="new", workspace="acme", publish=True, bypass_review=reason
    ),
    "update": lambda kind, _, reason: verbs(kind).update(
        "writer", {kind.text: DRAFT}, publish=True, bypass_review=reason
    ),
    "edit": lambda kind, _, reason: verbs(kind).edit(
        "writer", {kind.text: DRAFT}, publish=True, bypass_review=reason
    ),
    "edit_live": lambda kind, _, reason: verbs(kind).edit_live(
        "writer", {kind.text: DRAFT}, bypass_review=reason
    ),
    "label": lambda kind, draft, reason: verbs(kind).label(
        "writer", "beta", draft, released=True, bypass_review=reason
    ),
}


def _publish_page(kind: Kind, draft: str, reason: Reason) -> PageResponse:
    window, page = Visitor("alice"), page_of(kind, "publish")
    shown = window.get(page)
    given = {} if reason is None else {"reason": reason, "overrules": shown.field("overrules")}
    return window.post(page, version=draft, tag=shown.field("tag"), **given)


def _label_page(name: str) -> InTheStudio:
    def set_label(kind: Kind, draft: str, _: Reason) -> PageResponse:
        window = Visitor("alice")
        tag = window.get(page_of(kind, "history")).field("tag")
        return window.post(page_of(kind, "labels", "writer", draft), name=name, released="true", tag=tag)

    return set_label


def _many(address: str, **more: str) -> InTheStudio:
    def choose(kind: Kind, draft: str, _: Reason) -> PageResponse:
        chosen = f"{KINDS[kind].slug}:writer:{draft}"
        return Visitor("alice").post(address, chosen=chosen, confirmed="yes", **more)

    return choose


IN_THE_STUDIO: dict[str, InTheStudio] = {
    "publish": _publish_page,
    "release a label": _label_page("beta"),
    "move a released label": _label_page("stable"),
    "publish many": _many("/studio/publish/"),
    "label many": _many("/studio/label/", label="stable"),
}
