"""The page on which an invited person chooses a first password, and is signed in with it."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.auth.views import PasswordResetConfirmView
from django.urls import reverse_lazy

from versioning.editor.workspaces import INVITATIONS


class InvitedPage(PasswordResetConfirmView):
    """Open to whoever holds the link; the secret is taken out of the address before the form is shown."""

    template_name = "studio/workspaces/invited.html"
    token_generator = INVITATIONS
    post_reset_login = True
    success_url = reverse_lazy("admin:index")
    reset_url_token = "welcome"  # noqa: S105  stands in the address in place of the secret

    def get_context_data(self, **context: Any) -> dict[str, Any]:
        """Return what the frame shows, and whether the link still holds."""
        found = super().get_context_data(**context)
        title = f"Welcome, {self.user.get_username()}" if self.validlink and self.user else "Too late"
        return {**admin.site.each_context(self.request), **found, "title": title}
