"""The application's configuration."""

from __future__ import annotations

from django.apps import apps

from versioning.capabilities import EditorApp


class CompanyConfig(EditorApp):
    """Signs people in and administers accounts; single sign-on is off until it is configured."""

    name = "capabilities.accounts"
    label = "company"
    verbose_name = "Company"
    personal_data = "capabilities.accounts.personal_data.PERSONAL_DATA"
    api = "capabilities.accounts.api_urls"
    settings = "capabilities.accounts.sign_in.conf.SETTINGS"
    events = "capabilities.accounts.sign_in.events.EVENTS"
    jobs = "capabilities.accounts.sign_in.jobs.JOBS"
    system_checks = "capabilities.accounts.sign_in.conf.check_directory"
    studio = "capabilities.accounts.sign_in.extension.STUDIO"
    key_limits = "capabilities.accounts.sign_in.sessions.active_until"
    confirms = "capabilities.accounts.sign_in.recency.require_recent"

    def ready(self) -> None:
        super().ready()
        if apps.is_installed("studio"):
            from capabilities.accounts.sign_in import sessions  # noqa: PLC0415  when the models are ready

            sessions.watch()
