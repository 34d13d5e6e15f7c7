"""Groups of a provider become roles here: at every sign-in, memberships follow what `EDITOR_SSO_GROUPS` says.

Memberships that an admin gave by hand are left alone, and so is the last admin of a workspace. Groups make no
superusers.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from capabilities.accounts.sign_in.providers import GroupRule, Provider, group_rules
from versioning.domain.access import APPLICATION, Role
from versioning.editor.memberships import is_last_admin
from versioning.models import Membership, Workspace, events
from versioning.models.workspaces import Origin

if TYPE_CHECKING:
    from django.contrib.auth.models import User

logger = logging.getLogger("capabilities.accounts.sign_in")
MISSING: Final = "groups_missing"
"""The warning that the provider sent no usable list of groups, so that nothing was changed."""


def follow_groups(user: User, provider: Provider, claims: Mapping[str, Any]) -> dict[str, Any]:
    """Make the memberships from the directory equal to the person's groups; return what to tell, if anything.

    A claim that is missing or no list, such as the link that providers send in place of a long one, changes
    nothing.
    """
    rules = group_rules()
    if not any(rule.provider == provider.id for rule in rules):
        return {}
    groups = claims.get(provider.groups_claim)
    if not isinstance(groups, list) or not all(isinstance(group, str) for group in groups):
        extra = {"account": user.get_username(), "provider": provider.id}
        logger.warning("the provider sent no usable groups: roles stay as they are", extra=extra)
        return {"warnings": [MISSING]}
    wanted = roles_of(rules, provider.id, groups)
    elsewhere = {rule.workspace for rule in rules if rule.provider != provider.id}
    own = {rule.workspace for rule in rules if rule.provider == provider.id}
    held = Membership.objects.filter(user=user, origin=Origin.DIRECTORY)
    concerned = {*wanted, *held.values_list("workspace_id", flat=True)} - (elsewhere - own)
    kept = [
        workspace for workspace in sorted(concerned) if not _follow(user, workspace, wanted.get(workspace))
    ]
    return {"keptLastAdmin": kept} if kept else {}


def roles_of(rules: Iterable[GroupRule], provider_id: str, groups: Iterable[str]) -> dict[str, Role]:
    """Return the highest role in each workspace that the groups give."""
    found: dict[str, Role] = {}
    given = set(groups)
    for rule in rules:
        if rule.provider == provider_id and rule.group in given:
            found[rule.workspace] = max(
                rule.role, found.get(rule.workspace, rule.role), key=lambda one: one.rank
            )
    return found


@events.transaction()
def _follow(user: User, workspace_id: str, role: Role | None) -> bool:
    """Give, change or end a membership from the directory; return False if a last admin had to stay."""
    workspace = Workspace.objects.locked().filter(pk=workspace_id).first()
    if workspace is None:
        logger.warning(
            "a group gives a role in a workspace that does not exist", extra={"workspace": workspace_id}
        )
        return True
    member = workspace.memberships.filter(user=user).first()
    if member is not None and member.origin != Origin.DIRECTORY:
        return True
    if member is not None and role is not Role.ADMIN and is_last_admin(member):
        extra = {"account": user.get_username(), "workspace": workspace_id}
        logger.warning("the last admin of a workspace stays, though no group says so any more", extra=extra)
        return False
    if role is not None:
        Membership.objects.grant(user, workspace, role, by=APPLICATION, origin=Origin.DIRECTORY)
    elif member is not None:
        Membership.objects.end(member, by=APPLICATION)
    return True
