"""Every address of the service."""

from __future__ import annotations

from django.apps import apps
from django.conf import settings
from django.urls import include, path
from django.views.generic import RedirectView

from editor_project import documentation, error_pages
from studio import site
from versioning.api import errors, health

urlpatterns = [
    path(f"{settings.EDITOR_API_PREFIX}/", include("versioning.api.urls")),
    *(
        [path("scim/v2/", include("capabilities.accounts.directory.urls"))]
        if apps.is_installed("capabilities.accounts")
        else ()
    ),
    path("healthz", health.alive),
    path("readyz", health.ready),
    path("studio/", site.urls),
    path("studio", RedirectView.as_view(pattern_name="studio:index")),
    path("docs/", documentation.page, name="docs"),
    path("docs/<path:name>", documentation.page, name="docs"),
    path("docs", RedirectView.as_view(pattern_name="docs")),
    path("llms.txt", documentation.index_for_models),
    path("", RedirectView.as_view(pattern_name="studio:index")),
]

handler400 = errors.bad_request
handler403 = errors.forbidden
handler404 = error_pages.not_found
handler500 = error_pages.server_error
