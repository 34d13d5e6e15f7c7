"""Choosing the language of the studio."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils import translation
from django.utils.translation import gettext as _

from studio.models import Preferences
from studio.preferences.language import LANGUAGES, language_of
from studio.preferences.stored import preferences_of
from studio.views import StudioPage


class LanguagePage(StudioPage):
    """Where a person chooses the language of the studio."""

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show the languages, each by its own name."""
        return self.page(
            "studio/preferences/language.html",
            title=_("Language"),
            languages=settings.LANGUAGES,
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
