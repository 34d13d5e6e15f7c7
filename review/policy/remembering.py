"""What is remembered for the rule when versions come and go, in the transaction in which they do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from review.models import DeletedVersion, PublishedConfiguration
from review.policy.recording import record_file
from versioning.domain.access import Caller, Via
from versioning.domain.events import Target, VersionName
from versioning.domain.overrides import IN_CODE
from versioning.models import Version
from versioning.models.followers import RESOURCES, Follower

_FIRST: Final = 1


def _remember_author(
    by: Caller, resource: Target, version: VersionName | None, detail: Mapping[str, Any]
) -> None:
    if isinstance(version, Version) and version.author_id is not None:
        about = {"kind": resource.kind, "resource_id": resource.id, "identity": resource.identity}
        DeletedVersion.objects.create(**about, number=version.number, author_id=version.author_id)


def _remember_file(
    by: Caller, resource: Target, version: VersionName | None, detail: Mapping[str, Any]
) -> None:
    """Remember that the configuration of a version was live, if it was copied from a file."""
    if by.via is Via.FILE and isinstance(version, Version):
        record_file(resource, version)


def _begin_numbers_again(
    by: Caller, resource: Target, version: VersionName | None, detail: Mapping[str, Any]
) -> None:
    """Take the numbers from what is remembered of an override, if its row is made anew.

    Its identity is that of the code, and stays. So the old numbers would name other versions from now on.
    """
    if version is not None and version.number == _FIRST and resource.identity == IN_CODE:
        DeletedVersion.objects.about(resource).update(number=0)
        PublishedConfiguration.objects.forget_numbers(resource)


def _forget_authors(
    by: Caller, resource: Target, version: VersionName | None, detail: Mapping[str, Any]
) -> None:
    """Forget who saved an override: its row may go and come while the override stays in its file."""
    if resource.identity == IN_CODE:
        DeletedVersion.objects.about(resource).delete()


def _forget_with_row(instance: Any, **_signal: Any) -> None:
    DeletedVersion.objects.filter(identity=instance.uuid).delete()


FOLLOWERS: Final = (
    Follower(call=_remember_file, events=["created", "versionCreated"]),
    Follower(call=_begin_numbers_again, events=["created", "versionCreated"]),
    Follower(call=_remember_author, events=["versionDeleted"]),
    Follower(call=_forget_authors, events=["deleted"]),
    Follower(call=_forget_with_row, rows=RESOURCES),
)
