"""The application's extension of the studio."""

from __future__ import annotations

from typing import Final

from django.utils.translation import gettext_lazy as _

from studio.extensions import Extension, WorkspaceTab
from studio.navigation import MainPage
from versioning.domain.access import Right

STUDIO: Final = Extension(
    urls="evaluation.studio.urls",
    own_urls="evaluation.studio.own_urls",
    pages=[MainPage(page="datasets", title=_("Datasets"), place=60)],
    tabs=[WorkspaceTab(page="datasets", title=_("Datasets"), right=Right.READ_DRAFTS, place=60)],
)
