"""Every way to change a resource `writer` that has the history of `make_history`; headers are keywords."""

from __future__ import annotations

from collections.abc import Callable

from tests.support.api import Answer, Api, Kind
from tests.support.calls import History


def save(kind: Kind, api: Api, history: History, **headers: str) -> Answer:
    return api.patch(kind.url("writer"), {kind.text: "saved"}, **headers)


def save_metadata(kind: Kind, api: Api, history: History, **headers: str) -> Answer:
    """Save metadata alone."""
    return api.patch(kind.url("writer"), {"metadata": {"a": 1}}, **headers)


def save_and_publish(kind: Kind, api: Api, history: History, **headers: str) -> Answer:
    """Publish the draft by a save."""
    return api.patch(kind.url("writer"), {"autoPublish": True}, **headers)


def publish(kind: Kind, api: Api, history: History, **headers: str) -> Answer:
    return api.post(kind.url("writer", "versions", history.draft, "activate"), **headers)


def unpublish(kind: Kind, api: Api, history: History, **headers: str) -> Answer:
    """Serve nothing."""
    return api.post(kind.url("writer", "unpublish"), **headers)


def restore(kind: Kind, api: Api, history: History, **headers: str) -> Answer:
    """Restore a historical version."""
    return api.post(kind.url("writer", "versions", history.historical, "restore"), **headers)


def add_version(kind: Kind, api: Api, history: History, **headers: str) -> Answer:
    """Copy the published version."""
    return api.post(kind.url("writer", "versions"), **headers)


def set_label(kind: Kind, api: Api, history: History, **headers: str) -> Answer:
    """Set a new label on the draft."""
    return api.put(kind.url("writer", "labels", "canary"), {"versionId": history.draft}, **headers)


def move_label(kind: Kind, api: Api, history: History, **headers: str) -> Answer:
    return api.put(kind.url("writer", "labels", "stable"), {"versionId": history.draft}, **headers)


def remove_label(kind: Kind, api: Api, history: History, **headers: str) -> Answer:
    return api.delete(kind.url("writer", "labels", "stable"), **headers)


def delete_draft(kind: Kind, api: Api, history: History, **headers: str) -> Answer:
    return api.delete(kind.url("writer", "versions", history.draft), **headers)


def delete_historical(kind: Kind, api: Api, history: History, **headers: str) -> Answer:
    """Delete a historical version."""
    return api.delete(kind.url("writer", "versions", history.historical), **headers)


def delete(kind: Kind, api: Api, history: History, **headers: str) -> Answer:
    """Delete the resource."""
    return api.delete(kind.url("writer"), **headers)


Change = Callable[..., Answer]

# Those that heed `If-Match`.
GUARDED: list[Change] = [
    save,
    save_metadata,
    save_and_publish,
    publish,
    unpublish,
    restore,
    set_label,
    move_label,
    remove_label,
    delete_draft,
    delete_historical,
    delete,
]
CHANGES: list[Change] = [change for change in GUARDED if change is not delete] + [add_version]
