"""The preferences of the signed-in person, read once per request."""

from __future__ import annotations

from django.http import HttpRequest

from studio.models import Preferences


def preferences_of(request: HttpRequest) -> Preferences:
    """Return the preferences of the signed-in person; the defaults without one."""
    preferences: Preferences | None = getattr(request, "studio_preferences", None)
    if preferences is None:
        user = request.user
        preferences = Preferences.objects.of(user.pk) if user.is_authenticated else Preferences()
        request.studio_preferences = preferences  # type: ignore[attr-defined]
    return preferences
