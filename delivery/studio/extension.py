"""What this application adds to the studio."""

from __future__ import annotations

from django.utils.translation import gettext_lazy

from delivery.studio.notices import notices
from studio import extensions
from studio.extensions import Extension, WorkspaceTab


def register() -> None:
    """Add the webhooks of a workspace, and what its admins have to know of them."""
    tab = WorkspaceTab(page="webhooks", title=gettext_lazy("Webhooks"))
    extensions.register(Extension(urls="delivery.studio.urls", tabs=[tab], notices=notices))
