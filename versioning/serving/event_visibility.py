"""The events that a caller sees, as a query condition."""

from __future__ import annotations

from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from versioning.domain.access import Caller, Right
from versioning.domain.agents import Registry
from versioning.domain.events import Audience, Reach, personal_types
from versioning.domain.kinds import KINDS
from versioning.domain.overrides import IN_CODE
from versioning.models import Event, Workspace
from versioning.models.querysets import covered_by, within
from versioning.models.versioned import find_model


def visible_to(caller: Caller, code: Registry, events: QuerySet[Event]) -> QuerySet[Event]:
    """Filter the events that the caller may see; see `is_visible_to`."""
    return events.filter(is_visible_to(caller, code))


def is_visible_to(caller: Caller, code: Registry) -> Q:
    """Return the condition that the caller may see an event.

    Events about published versions: everyone who can read the resource now, or could until the event. Events
    about drafts: everyone with access to drafts in the workspace. Events about members, keys and policies:
    its admins. If the id now belongs to another resource: members of the workspace only. Each reader sees a
    change of a block once: readers of the block as its own event, others as an event of the agent that they
    read. A key that is limited to some ids sees the events about these resources only.
    """
    if caller.id_prefix:
        return ~Q(resource_kind="") & covered_by(caller, "resource_id") & _is_visible_to(caller, code)
    return _is_visible_to(caller, code)


def _is_visible_to(caller: Caller, code: Registry) -> Q:
    home = {right: caller.scope(right) for right in Right}
    if home[Right.ADMINISTER] is None:
        return Q(hidden_from="")
    members, editors, admins = (
        within("workspace_id", home[right]) & _is_of_this_workspace()
        for right in (Right.READ, Right.READ_DRAFTS, Right.ADMINISTER)
    )
    everybody = Q(reach=Reach.EVERYBODY) | _readable_now(caller, code)
    readable = editors | (members & Q(reach=Reach.MEMBERS)) | everybody
    visible = (
        _is_personal(caller)
        | Q(audience=Audience.ADMINS) & admins
        | Q(audience=Audience.EDITORS) & editors
        | Q(audience=Audience.READERS) & readable & (members | _is_of_this_life(code))
    )
    read_the_block = Q(hidden_from="") if home[Right.READ] is None else ~Q(hidden_from__in=home[Right.READ])
    return visible & read_the_block


def _is_personal(caller: Caller) -> Q:
    """Return the condition that an event, such as a sign-in, is about the caller; not for limited keys."""
    types = personal_types()
    if not types or caller.username is None or caller.key_workspace is not None:
        return Q(pk__in=[])
    return Q(type__in=types, detail__username=caller.username)


def is_about_oneself(caller: Caller) -> Q:
    """Return the condition that an event is about the member's own role, in one of their workspaces.

    In lists of the log it is for admins only, like all events about members.
    """
    own = Q(type__in=("member.added", "member.roleChanged"), detail__username=caller.username)
    return own & within("workspace_id", caller.scope(Right.READ)) & _is_of_this_workspace()


def _is_of_this_workspace() -> Q:
    """Return the condition that an event is not of an earlier workspace with the same id.

    Members of the current workspace have no rights in the earlier one.
    """
    later = Workspace.objects.filter(pk=OuterRef("workspace_id"), created_at__gt=OuterRef("created_at"))
    return ~Q(Exists(later.order_by()))


def _readable_now(caller: Caller, code: Registry) -> Q:
    """Return the condition that the caller may read the resource of an event.

    A later resource with the same id does not count. An event about a released label concerns the version
    with that label.
    """
    label: Any = OuterRef(OuterRef("label"))  # refers to the event from inside the condition about labels
    readable = Q(resource_uuid=IN_CODE, resource_id__in=list(code.readable_by(caller)))
    for kind in KINDS:
        rows: Any = find_model(kind)._default_manager.all()
        itself = rows.readable_by(caller, code, label=label).filter(uuid=OuterRef("resource_uuid"))
        readable |= Q(resource_kind=kind.slug) & Q(Exists(itself.order_by()))
    return readable


def _is_of_this_life(code: Registry) -> Q:
    """Return the condition that the id has not been reused by another resource since."""
    still = Q(resource_uuid=IN_CODE, resource_id__in=list(code.agents))
    for kind in KINDS:
        rows = find_model(kind)._default_manager.filter(pk=OuterRef("resource_id"))
        reused_ids = rows.exclude(uuid=OuterRef("resource_uuid"))
        still |= Q(resource_kind=kind.slug) & ~Q(resource_uuid=IN_CODE) & ~Q(Exists(reused_ids.order_by()))
    return still
