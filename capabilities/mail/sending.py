"""Sending one mail, and when it is tried again.

The mail is written when it is sent, so that it says what is true then, to those who may know it then. If a
worker is killed after the mail server has taken the mail, and before the row is deleted, the mail is sent
once more, with the same `Message-ID`.
"""

from __future__ import annotations

import logging
import random
from smtplib import SMTPRecipientsRefused
from typing import Final

from django.utils import timezone

from capabilities.mail import conf, letters
from capabilities.mail.models import Mail
from versioning.models import storage

WAITS: Final = (5.0, 30.0, 120.0, 600.0, 1800.0)
"""The seconds between attempts; the last one again and again, until the mail is given up."""
JITTER: Final = 0.2
_PERMANENT: Final = 500
"""Replies from here on say that another attempt is of no use."""

logger = logging.getLogger(__name__)


def send(mail: Mail) -> None:
    """Send a leased mail and delete it, or postpone it; raises `LeaseLost` if that took too long."""
    if mail.until < timezone.now() or not conf.is_on():
        logger.error("a mail was given up", extra={"kind": mail.kind, "attempts": mail.attempts})
        mail.remove()
        return
    mail.join()
    connection = conf.connection()
    messages = letters.messages_of(mail, connection)
    storage.give_back()  # it is not needed while the mail server answers
    try:
        if messages:
            connection.open()
            connection.send_messages(messages)
    except Exception as error:  # noqa: BLE001  the backend of a project raises errors of its own
        _failed(mail, error)
    else:
        mail.remove()
    finally:
        connection.close()


def _failed(mail: Mail, error: Exception) -> None:
    about = {"kind": mail.kind, "attempts": mail.attempts, "error": f"{type(error).__name__}"}
    if _is_permanent(error):
        logger.warning("the mail server takes no mail for an address", extra=about)
        mail.remove()
        return
    logger.warning("a mail could not be sent yet", extra=about)
    wait = WAITS[min(mail.attempts, len(WAITS)) - 1]
    mail.try_again(wait * random.uniform(1 - JITTER, 1 + JITTER))  # noqa: S311  no secret


def _is_permanent(error: Exception) -> bool:
    """Return whether the server refuses the recipient, and not only for now."""
    if not isinstance(error, SMTPRecipientsRefused):
        return False
    return all(code >= _PERMANENT for code, _reply in error.recipients.values())
