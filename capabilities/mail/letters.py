"""The letter that a waiting mail becomes when it is sent, if it still has a reader.

Links with a secret are made here, so that no row and no back-up holds one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from django.core.mail import EmailMultiAlternatives
from django.core.mail.backends.base import BaseEmailBackend
from django.utils.translation import gettext as _

from capabilities.mail import conf, forgotten, news
from capabilities.mail.letter import Letter, isolated
from capabilities.mail.models import Mail, MailKind
from capabilities.mail.outbox import wanted_address
from capabilities.mail.recipients import in_language_of
from capabilities.mail.topics import FORGOTTEN_PASSWORD, INVITATION
from studio.dates import moment_in_words
from studio.workspaces.names import role_name
from studio.workspaces.views import invitation_address
from versioning.models import Invitation
from versioning.models.accounts import account

_ONE_WORD: Final = re.compile(r"[A-Za-z0-9_-]{1,40}")


def messages_of(mail: Mail, connection: BaseEmailBackend) -> list[EmailMultiAlternatives]:
    """Return the messages to send for a mail: none if nobody is to have it any more."""
    return list(_WRITERS[MailKind(mail.kind)](mail, connection))


def _invitation(mail: Mail, connection: BaseEmailBackend) -> Iterator[EmailMultiAlternatives]:
    """Yield the link of an invitation that can still be accepted, unless there is a newer mail about it."""
    acceptable = Invitation.objects.acceptable().filter(pk=mail.invitation_id or 0)
    invitation = acceptable.select_related("workspace", "invited_by").first()
    if invitation is None or Mail.objects.filter(invitation=invitation, pk__gt=mail.pk).exists():
        return
    invited = account(invitation.username)
    to = invitation.mail or wanted_address(invited, INVITATION.name)
    if to:
        with in_language_of(invited or invitation.invited_by):
            yield _letter_of_invitation(invitation).message(to, mail.message_id, connection)


def _letter_of_invitation(invitation: Invitation) -> Letter:
    """Return a letter in fixed words: it goes to any address, so that it must not carry the admin's own.

    Names are left out that are more than a word, or that a mail program may turn into a link.
    """
    by = invitation.invited_by
    names = {
        "host": conf.public_host(),
        "person": by.get_username() if by is not None else "",
        "workspace": invitation.workspace_id,
        "role": role_name(invitation.role),
        "username": invitation.username,
        "until": moment_in_words(invitation.expires_at),
    }
    subject = _("You are invited to the editor at %(host)s") % names
    sentences = [f"{subject}."]
    if _is_one_word(names["person"]) and _is_one_word(names["workspace"]):
        sentences.append(_("%(person)s invites you to the workspace %(workspace)s.") % names)
    if _is_one_word(names["username"]):
        sentences.append(
            _("You would have the role %(role)s there, with the user name %(username)s.") % names
        )
    return Letter(
        subject=subject,
        sentences=sentences,
        address=conf.public_address(invitation_address(invitation.mailed_token)),
        button=_("View invitation"),
        ends=[
            _("The link is valid until %(until)s. If you expect no invitation, do nothing.") % names,
        ],
    )


def _is_one_word(name: str) -> bool:
    return _ONE_WORD.fullmatch(name) is not None


def _forgotten_password(mail: Mail, connection: BaseEmailBackend) -> Iterator[EmailMultiAlternatives]:
    """Yield a link for each account with the name or the address that was typed, if there is any."""
    for number, user in enumerate(forgotten.accounts_of(mail.detail["asked"])):
        to = wanted_address(user, FORGOTTEN_PASSWORD.name)
        if not to:
            continue
        with in_language_of(user):
            names = {"username": isolated(user.get_username())}
            letter = Letter(
                subject=_("A new password for %(username)s") % names,
                sentences=[
                    _("Someone has asked for a new password for the account %(username)s.") % names,
                    _("If it was you, set one within an hour. The link works once."),
                ],
                address=conf.public_address(forgotten.new_password_address(user)),
                button=_("Set a new password"),
                ends=[_("If it was someone else, do nothing: your password stays as it is.")],
            )
            yield letter.message(to, f"{mail.message_id}.{number}", connection)


def _address_changed(mail: Mail, connection: BaseEmailBackend) -> Iterator[EmailMultiAlternatives]:
    """Yield a notice to the address that an account had before."""
    user = mail.user
    if user is None:
        return
    with in_language_of(user):
        names = {"username": isolated(user.get_username())}
        letter = Letter(
            subject=_("The mail address of %(username)s has changed") % names,
            sentences=[
                _("The account %(username)s has another mail address now; this one gets no more mail.")
                % names,
                _("If it was not you who changed it, tell an admin of your workspace at once."),
            ],
        )
        yield letter.message(mail.detail["to"], mail.message_id, connection)


Writer = Callable[[Mail, BaseEmailBackend], Iterator[EmailMultiAlternatives]]
_WRITERS: Final[Mapping[MailKind, Writer]] = {
    MailKind.INVITATION: _invitation,
    MailKind.FORGOTTEN_PASSWORD: _forgotten_password,
    MailKind.ADDRESS_CHANGED: _address_changed,
    MailKind.NEWS: news.news,
}
