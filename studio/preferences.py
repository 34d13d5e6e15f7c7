"""The preferences of the signed-in person: language, time zone, and recently opened resources.

They are read once per request. Without a preference, the language is the best match for the browser. Only the
studio is translated: the answers of the API are always in English.
"""

from __future__ import annotations

import datetime
import hashlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

from django.apps import AppConfig, apps
from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.translation import get_language, to_locale
from django.utils.translation import gettext as _
from django.views.i18n import JavaScriptCatalog

from studio.error_pages import came_from
from studio.models import Density, Preferences
from studio.views import StudioPage
from versioning.domain.zones import UTC, known_zones, offered_zones
from versioning.models import storage


def preferences_of(request: HttpRequest) -> Preferences:
    """Return the preferences of the signed-in person; the defaults without one."""
    preferences: Preferences | None = getattr(request, "studio_preferences", None)
    if preferences is None:
        user = request.user
        preferences = Preferences.objects.of(user.pk) if user.is_authenticated else Preferences()
        request.studio_preferences = preferences  # type: ignore[attr-defined]
    return preferences


_ENGLISH: Final = "en"


def _translations(config: AppConfig) -> Path:
    return Path(config.path) / "locale"


_TRANSLATED: Final = {
    path.parts[-3] for path in _translations(apps.get_app_config("studio")).glob("*/LC_MESSAGES/django.mo")
}
LANGUAGES: Final = {
    _ENGLISH: "English",
    **{code: name for code, name in settings.LANGUAGES if to_locale(code) in _TRANSLATED},
}
"""The names of the studio's languages by code: English, and the project's languages with a translation."""


def language_of(request: HttpRequest) -> str:
    """Return the code of the language for a request, one of `LANGUAGES`."""
    chosen = preferences_of(request).language
    return chosen if chosen in LANGUAGES else _nearest(translation.get_language_from_request(request))


def _nearest(code: str) -> str:
    """Return the nearest studio language: `de` for `de-at`, and English if there is none."""
    return next((language for language in (code, code.partition("-")[0]) if language in LANGUAGES), _ENGLISH)


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


def translated_apps() -> list[AppConfig]:
    foreign = ("django.", "rest_framework", "django_filters")
    return [
        config
        for config in apps.get_app_configs()
        if _translations(config).is_dir() and not config.name.startswith(foreign)
    ]


def catalog_address() -> str:
    language = _nearest(get_language() or settings.LANGUAGE_CODE)
    return f"{reverse('studio:script_catalog', args=[language])}?v={_digest(language)}"


@lru_cache
def _digest(language: str) -> str:
    digest = hashlib.sha256()
    for app in translated_apps():
        compiled = _translations(app) / language / "LC_MESSAGES" / "djangojs.mo"
        digest.update(compiled.read_bytes() if compiled.is_file() else b"")
    return digest.hexdigest()[:12]


COOKIE: Final = "studio-zone"
"""The cookie in which `zone.js` sends the time zone of the browser."""


def zone_of_browser(request: HttpRequest) -> str:
    """Return the name of the time zone that the browser sent; empty if there is none, or it is unknown."""
    zone = request.COOKIES.get(COOKIE, "")
    return zone if zone in known_zones() else ""


def zone_of_pages(request: HttpRequest) -> ZoneInfo:
    chosen = preferences_of(request).time_zone
    return ZoneInfo(chosen if chosen in known_zones() else zone_of_browser(request) or UTC)


MAX_REMEMBERED: Final = 20
"""The maximum number of resources in the list."""


@dataclass(frozen=True, kw_only=True)
class RecentlyOpened:
    kind: str
    """The slug of its kind."""
    id: str
    at: datetime.datetime


def recently_opened(request: HttpRequest) -> list[RecentlyOpened]:
    """Return the resources opened last, the latest first; they may have been deleted since."""
    return [
        RecentlyOpened(kind=kind, id=resource_id, at=datetime.datetime.fromisoformat(at))
        for kind, resource_id, at in preferences_of(request).recent
    ]


def note_opened(request: HttpRequest, kind: str, resource_id: str) -> None:
    """Record that a resource was opened; writes nothing if it already was the last one."""
    preferences = preferences_of(request)
    before: list[list[str]] = preferences.recent
    if before and before[0][:2] == [kind, resource_id]:
        return
    other_entries = [entry for entry in before if entry[:2] != [kind, resource_id]]
    preferences.recent = [[kind, resource_id, timezone.now().isoformat()], *other_entries][:MAX_REMEMBERED]
    with storage.optional():
        if not Preferences.objects.filter(pk=preferences.pk).update(recent=preferences.recent):
            Preferences.objects.change(preferences.pk, recent=preferences.recent)


class PreferencesPage(StudioPage):
    """The page for the language, the time zone and the keyboard shortcuts of the studio."""

    def get(self, request: HttpRequest) -> HttpResponse:
        preferences = preferences_of(request)
        return self.page(
            "studio/preferences/preferences.html",
            title=_("Preferences"),
            languages=LANGUAGES.items(),
            language=preferences.language,
            zones=offered_zones(),
            zone=preferences.time_zone,
            single_keys=preferences.single_keys,
            zone_of_browser=zone_of_browser(request),
        )

    def post(self, request: HttpRequest) -> HttpResponse:
        """Store the posted choices; an unknown value means the browser's."""
        data, offered = request.POST, {"language": LANGUAGES, "time_zone": offered_zones()}
        chosen: dict[str, Any] = {
            name: value if (value := data[name]) in values else ""
            for name, values in offered.items()
            if name in data
        }
        if "single_keys" in data:
            chosen["single_keys"] = data["single_keys"] != "off"
        Preferences.objects.change(request.user.pk, **chosen)
        del request.studio_preferences  # type: ignore[attr-defined]
        with translation.override(language_of(request)):
            message = _("The studio is now in English. Its times are those of %(zone)s.")
            messages.success(request, message % {"zone": zone_of_pages(request)})
        return self.go(request.path)


class DensityPage(StudioPage):
    http_method_names = ["post"]

    def post(self, request: HttpRequest) -> HttpResponse:
        """Store the choice and return to the page of the menu; unknown values mean comfortable."""
        chosen = request.POST.get("density", "")
        density = chosen if chosen in Density.values else Density.COMFORTABLE
        Preferences.objects.change(request.user.pk, density=density)
        return self.go(came_from(request) or reverse("studio:index"))


class TourPage(StudioPage):
    """Dismisses the introduction of the first visit, or shows it again."""

    http_method_names = ["post"]

    def post(self, request: HttpRequest) -> HttpResponse:
        """Record whether the person has read it, and go to the home page, which shows it."""
        Preferences.objects.change(request.user.pk, tour_dismissed="again" not in request.POST)
        return self.go(reverse("studio:index"))
