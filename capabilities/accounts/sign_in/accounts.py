"""From a provider's claims to an account: found by issuer and subject, or created at the first sign-in."""

from __future__ import annotations

import logging
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone

from capabilities.accounts.models import DirectoryAccount, Identity
from capabilities.accounts.sign_in.oidc import SignInRefused
from capabilities.accounts.sign_in.providers import GroupRule, Provider, group_rules, provider_of_directory
from studio.accounts.views import NameForm
from versioning.domain.access import APPLICATION, Role
from versioning.domain.errors import Invalid
from versioning.domain.texts import clip
from versioning.editor.workspaces import is_last_admin
from versioning.models import Membership, Workspace, events
from versioning.models.accounts import checked_new_name, is_mail_address, name_fields, new_account
from versioning.models.workspaces import Origin

if TYPE_CHECKING:
    from django.contrib.auth.models import User


_CLAIMS: Final = {"first_name": "given_name", "last_name": "family_name"}
_FOREIGN: Final = re.compile(r"[^\w.@+-]+")
"""The characters that Django's user names do not have."""
_MAX_NAME: Final = 140
_ATTEMPTS: Final = 1000


def find_person(provider: Provider, claims: Mapping[str, Any]) -> User:
    """Return the account that the claims identify, created at the first sign-in.

    A mail address identifies no one, because a provider could claim any. Raises `SignInRefused` if the
    account is deactivated, or if there is none and accounts are not created.
    """
    identity = identity_of(provider, claims)
    if identity is None:
        identity = _link_directory_account(provider, claims)
    if identity is None:
        if settings.EDITOR_SSO_SIGN_UP == "off":
            raise SignInRefused("no_account")
        identity = _sign_up(provider, claims)
    if not identity.user.is_active:
        raise SignInRefused("inactive")
    Identity.objects.filter(pk=identity.pk).update(last_used_at=timezone.now())
    return identity.user


def identity_of(provider: Provider, claims: Mapping[str, Any]) -> Identity | None:
    identities = Identity.objects.filter(issuer=provider.issuer, subject=claims["sub"])
    return identities.select_related("user").first()


def link(provider: Provider, claims: Mapping[str, Any], user: User) -> None:
    """Let a person who is signed in use a provider from now on.

    Raises `SignInRefused` if the subject belongs to another account, or the person has another subject there.
    """
    identity = identity_of(provider, claims)
    if identity is not None and identity.user_id != user.pk:
        raise SignInRefused("taken")
    if identity is None:
        if Identity.objects.filter(user=user, issuer=provider.issuer).exists():
            raise SignInRefused("linked_already")
        Identity.objects.create(user=user, issuer=provider.issuer, subject=claims["sub"])


def _link_directory_account(provider: Provider, claims: Mapping[str, Any]) -> Identity | None:
    """Link an account that the directory has made, at the first sign-in whose subject is its external id.

    Only at the directory's own provider, because another person may have that subject at other providers.
    """
    if provider.id != provider_of_directory():
        return None
    directory_accounts = DirectoryAccount.objects.filter(
        external_id=claims["sub"], is_made_here=True, deleted_at=None
    )
    account = directory_accounts.select_related("user").first()
    if account is None or Identity.objects.filter(user=account.user).exists():
        return None
    return Identity.objects.create(user=account.user, issuer=provider.issuer, subject=claims["sub"])


def _sign_up(provider: Provider, claims: Mapping[str, Any]) -> Identity:
    """Create an account with an identity; of two simultaneous first sign-ins, one creates both."""
    for name in _names(claims):
        try:
            with transaction.atomic():
                user = new_account(checked_new_name(name))
                identity = Identity.objects.create(user=user, issuer=provider.issuer, subject=claims["sub"])
        except Invalid:
            continue
        except IntegrityError:
            existing = identity_of(provider, claims)
            if existing is not None:
                return existing
            continue
        _take_names(user, claims)
        return identity
    raise SignInRefused("no_name")


def _names(claims: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names to try: the preferred one, else the local part of the mail address, then numbered."""
    mail = str(claims.get("email") or "")
    candidates = [str(claims.get("preferred_username") or ""), mail.partition("@")[0]]
    composed = (unicodedata.normalize("NFKC", text) for text in candidates)
    # User names have no combining marks, and without them a name in Hindi or Thai is meaningless.
    whole = (text for text in composed if not any(unicodedata.category(sign)[0] == "M" for sign in text))
    names = (clip(_FOREIGN.sub("-", text).strip("-"), _MAX_NAME) for text in whole)
    name = next(filter(None, names), "person")
    yield name
    for number in range(2, _ATTEMPTS):
        yield f"{name}-{number}"


def _take_names(user: User, claims: Mapping[str, Any]) -> None:
    """Store the person's names and verified mail address, as far as the user model has fields for them."""
    form = NameForm({field: claims.get(claim) for field, claim in _CLAIMS.items()})
    form.is_valid()  # a name that people could not choose is omitted
    changed_fields = [field for field in name_fields() if form.cleaned_data.get(field)]
    for field in changed_fields:
        setattr(user, field, form.cleaned_data[field])
    field = user.get_email_field_name()
    mail = claims.get("email")
    is_verified = isinstance(mail, str) and is_mail_address(mail) and claims.get("email_verified") is True
    if is_verified and hasattr(user, field):
        setattr(user, field, mail)
        changed_fields.append(field)
    if changed_fields:
        user.save(update_fields=changed_fields)


def list_issuers(user: Any) -> list[str]:
    return list(Identity.objects.filter(user=user).values_list("issuer", flat=True))


logger = logging.getLogger("capabilities.accounts.sign_in")
MISSING: Final = "groups_missing"
"""The warning that the provider sent no usable list of groups, so that nothing was changed."""


def follow_groups(user: User, provider: Provider, claims: Mapping[str, Any]) -> dict[str, Any]:
    """Make the memberships from the directory match the person's groups; return a warning, if any.

    A claim that is missing or not a list, such as the link that providers send instead of a long list,
    changes nothing.
    """
    rules = group_rules()
    if not any(rule.provider == provider.id for rule in rules):
        return {}
    groups = claims.get(provider.groups_claim)
    if not isinstance(groups, list) or not all(isinstance(group, str) for group in groups):
        extra = {"account": user.get_username(), "provider": provider.id}
        logger.warning("the provider sent no usable groups: roles are unchanged", extra=extra)
        return {"warnings": [MISSING]}
    roles = roles_of(rules, provider.id, groups)
    elsewhere = {rule.workspace for rule in rules if rule.provider != provider.id}
    own_workspaces = {rule.workspace for rule in rules if rule.provider == provider.id}
    memberships = Membership.objects.filter(user=user, origin=Origin.DIRECTORY)
    workspaces = {*roles, *memberships.values_list("workspace_id", flat=True)} - (elsewhere - own_workspaces)
    kept_workspaces = [
        workspace for workspace in sorted(workspaces) if not _follow(user, workspace, roles.get(workspace))
    ]
    return {"keptLastAdmin": kept_workspaces} if kept_workspaces else {}


def roles_of(rules: Iterable[GroupRule], provider_id: str, groups: Iterable[str]) -> dict[str, Role]:
    roles: dict[str, Role] = {}
    group_names = set(groups)
    for rule in rules:
        if rule.provider == provider_id and rule.group in group_names:
            roles[rule.workspace] = max(
                rule.role, roles.get(rule.workspace, rule.role), key=lambda role: role.rank
            )
    return roles


@events.transaction()
def _follow(user: User, workspace_id: str, role: Role | None) -> bool:
    """Create, change or end a membership from the directory; return False if a last admin had to stay."""
    workspace = Workspace.objects.with_lock().filter(pk=workspace_id).first()
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
