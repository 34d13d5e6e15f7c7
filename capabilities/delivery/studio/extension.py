"""The application's extension of the studio."""

from __future__ import annotations

from typing import Final

from django.utils.translation import gettext_lazy

from capabilities.delivery.studio.labels import named_in_events
from capabilities.delivery.studio.notices import notices
from studio.extensions import Extension, WorkspaceTab

tab = WorkspaceTab(page="webhooks", title=gettext_lazy("Webhooks"), is_setting=True)
STUDIO: Final = Extension(
    urls="capabilities.delivery.studio.urls", tabs=[tab], notices=notices, named_in_events=named_in_events
)
