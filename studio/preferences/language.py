"""The language of the studio: the person's choice, or else the best match for their browser.

Only the studio is translated. The answers of the API are always in English.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from django.apps import AppConfig, apps
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import translation
from django.utils.translation import get_language, to_locale
from django.views.i18n import JavaScriptCatalog

from studio.preferences.stored import preferences_of

_ENGLISH: Final = "en"


def _translations(config: AppConfig) -> Path:
    return Path(config.path) / "locale"


def _languages() -> dict[str, str]:
    compiled = _translations(apps.get_app_config("studio")).glob("*/LC_MESSAGES/django.mo")
    translated = {path.parts[-3] for path in compiled}
    offered = {code: name for code, name in settings.LANGUAGES if to_locale(code) in translated}
    return {_ENGLISH: "English", **offered}


LANGUAGES: Final = _languages()
"""The names of the studio's languages by code: English, and the project's languages with a translation."""


def language_of(request: HttpRequest) -> str:
    """Return the code of the language for a request, one of `LANGUAGES`."""
    chosen = preferences_of(request).language
    return chosen if chosen in LANGUAGES else _nearest(translation.get_language_from_request(request))


def _nearest(code: str) -> str:
    """Return the nearest studio language: `de` for `de-at`, and English if there is none."""
    return next((one for one in (code, code.partition("-")[0]) if one in LANGUAGES), _ENGLISH)


class ScriptCatalog(JavaScriptCatalog):
    """The translations for scripts; an address holds one version of one language permanently."""

    domain = "djangojs"

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Return the catalog of the language in the address; 404 for any other language."""
        language = kwargs["language"]
        if language not in LANGUAGES:
            raise Http404
        with translation.override(language):
            response: HttpResponse = super().get(request, *args, **kwargs)
        response["Cache-Control"] = "public, max-age=31536000, immutable"
        return response


def translated_packages() -> list[str]:
    """Return the applications with translated scripts: those with pages of the studio."""
    foreign = ("django.", "rest_framework", "django_filters")
    return [
        config.name
        for config in apps.get_app_configs()
        if _translations(config).is_dir() and not config.name.startswith(foreign)
    ]


def catalog_address() -> str:
    """Return the address of the script catalog in the current language."""
    language = _nearest(get_language() or settings.LANGUAGE_CODE)
    return f"{reverse('studio:script_catalog', args=[language])}?v={_digest(language)}"


@lru_cache
def _digest(language: str) -> str:
    """Return a digest that changes with the translations of a language."""
    digest = hashlib.sha256()
    for name in translated_packages():
        compiled = _translations(apps.get_app_config(name)) / language / "LC_MESSAGES" / "djangojs.mo"
        digest.update(compiled.read_bytes() if compiled.is_file() else b"")
    return digest.hexdigest()[:12]
