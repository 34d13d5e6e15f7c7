"""What this adds to the studio."""

from __future__ import annotations

from typing import Final

from mail import conf
from studio.extensions import Extension

STUDIO: Final = Extension(sends_invitations=conf.is_on)
