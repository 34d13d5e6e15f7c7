"""The studio: the pages where people draft, compare and publish. `site` is a separate admin site.

A project can register its own models with it: `@admin.register(Product, site=studio.site)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from django.utils.functional import SimpleLazyObject
from django.utils.module_loading import import_string

if TYPE_CHECKING:
    from django.contrib.admin import AdminSite

# Like Django's own `admin.site`, the class is referred to by path: the site's pages import the site.
site = cast("AdminSite", SimpleLazyObject(lambda: import_string("studio.sites.StudioSite")("studio")))
