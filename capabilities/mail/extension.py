"""What this adds to the studio."""

from __future__ import annotations

from typing import Final

from capabilities.mail import account, conf, forgotten
from studio.extensions import Extension
from studio.ways_in import SignInExtension

STUDIO: Final = Extension(
    own_urls="capabilities.mail.urls",
    account_links=account.links,
    sends_invitations=conf.is_on,
    sign_in=SignInExtension(forgotten_password=forgotten.page_address),
)
