"""Pages to choose the language and the density of the studio, and to dismiss its introduction."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _

from studio.error_pages import came_from
from studio.models import Density, Preferences
from studio.preferences.language import LANGUAGES, language_of
from studio.preferences.stored import preferences_of
from studio.views import StudioPage


class LanguagePage(StudioPage):
    """Where a person chooses the language of the studio."""

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show the languages, each under its own name."""
        return self.page(
            "studio/preferences/language.html",
            title=_("Language"),
            languages=LANGUAGES.items(),
            chosen=preferences_of(request).language,
        )

    def post(self, request: HttpRequest) -> HttpResponse:
        """Store the choice; anything but a language of the studio means the browser's."""
        language = request.POST.get("language", "")
        Preferences.objects.change(request.user.pk, language=language if language in LANGUAGES else "")
        del request.studio_preferences  # type: ignore[attr-defined]
        with translation.override(language_of(request)):
            messages.success(request, _("The studio is in English now."))
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
    """Dismisses the introduction of the first visit."""

    http_method_names = ["post"]

    def post(self, request: HttpRequest) -> HttpResponse:
        """Record that the person has read it, and return to the home page."""
        Preferences.objects.change(request.user.pk, tour_dismissed=True)
        return self.go(reverse("studio:index"))
