"""The addresses of static files, which begin with the path below which the service is mounted."""

from __future__ import annotations

from django.conf import settings
from django.contrib.staticfiles.storage import StaticFilesStorage
from django.urls import get_script_prefix


class MountedStaticFilesStorage(StaticFilesStorage):
    """Adds the path of each request to `STATIC_URL`; Django would add and cache that of the first one."""

    @property
    def base_url(self) -> str:
        url = str(settings.STATIC_URL)
        return f"{get_script_prefix()}{url[1:]}" if url.startswith("/") else url
