"""Pages to choose language, time zone, keys and density of the studio, and to dismiss its introduction."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _

from studio.error_pages import came_from
from studio.models import Density, Preferences
from studio.preferences.stored import LANGUAGES, language_of, preferences_of, zone_of_browser, zone_of_pages
from studio.views import StudioPage
from versioning.domain.zones import offered_zones


class PreferencesPage(StudioPage):
    """Where a person chooses the language and the time zone of the studio, and its keys."""

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show the languages, each under its own name, and the time zones."""
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
        """Store the choices that were sent; what the studio does not offer means that of the browser."""
        sent, offered = request.POST, {"language": LANGUAGES, "time_zone": offered_zones()}
        chosen: dict[str, Any] = {
            name: value if (value := sent[name]) in values else ""
            for name, values in offered.items()
            if name in sent
        }
        if "single_keys" in sent:
            chosen["single_keys"] = sent["single_keys"] != "off"
        Preferences.objects.change(request.user.pk, **chosen)
        del request.studio_preferences  # type: ignore[attr-defined]
        with translation.override(language_of(request)):
            message = _("The studio is now in English. Its times are those of %(zone)s.")
            messages.success(request, message % {"zone": zone_of_pages(request)})
        return self.go(request.path)


class DensityPage(StudioPage):
    """Receives the density chosen in the menu."""

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
