"""Which configurations of a resource were live before, by the log."""

from __future__ import annotations

from versioning.conf import get_editor
from versioning.editor.gate import PublishRequest
from versioning.models import Agent, Event, PromptBlock
from versioning.serving.grants import Named, named_in, target_of


def was_live(request: PublishRequest) -> bool:
    """Return whether the configuration was the resource's live one before, with what it names now.

    Having been an arm or under a label is not that. What the log no longer knows was not live, and neither
    was a configuration whose versions were all deleted.
    """
    resource, version = request.resource, request.version
    if version.read_only:
        return True  # the content of a file or of a commit
    target = target_of(resource, get_editor().code)
    published = f"{target.kind}.published"
    rows = Event.objects.filter(
        resource_id=target.id, resource_kind=target.kind, resource_uuid=target.identity, hidden_from=""
    ).order_by("position")
    moments = dict(rows.filter(type=published).values_list("version_id", "created_at"))
    for previous, at in rows.filter(type__in=[published, f"{target.kind}.unpublished"]).values_list(
        "previous_version_id", "created_at"
    ):
        moments.setdefault(previous, at)
    equal = resource.versions.filter(digest=version.digest).values_list("pk", flat=True)
    then = [moments[str(pk)] for pk in equal if str(pk) in moments]
    if not then and not _is_active_now(request):
        return False
    newest = max(then, default=resource.published_since)
    return newest is not None and not _later_than(named_in(request.targets, get_editor().code), newest)


def _is_active_now(request: PublishRequest) -> bool:
    active = request.resource.active
    return active is not None and active.digest == request.version.digest


def _later_than(named: frozenset[Named], moment: object) -> bool:
    """Return whether any of the resources is a later one, which has the id of an earlier one."""
    ids = [one.identity for one in named]
    return bool(ids) and any(
        model._default_manager.filter(uuid__in=ids, created_at__gt=moment).exists()
        for model in (Agent, PromptBlock)
    )
