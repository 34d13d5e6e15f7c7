"""The settings of the application."""

from __future__ import annotations

from typing import Final

from company.sign_in import conf as sign_in

SETTINGS: Final = sign_in.SETTINGS
