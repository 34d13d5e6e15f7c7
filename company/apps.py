"""The application's configuration."""

from __future__ import annotations

from django.apps import apps

from versioning.capabilities import EditorApp


class CompanyConfig(EditorApp):
    """What a company asks for before it runs the editor; all of it is off until it is configured."""

    name = "company"
    verbose_name = "Company"
    personal_data = "company.personal_data.PERSONAL_DATA"
    api = "company.api_urls"
    settings = "company.sign_in.conf.SETTINGS"
    events = "company.sign_in.events.EVENTS"
    jobs = "company.sign_in.jobs.JOBS"
    system_checks = "company.sign_in.conf.check_directory"
    studio = "company.sign_in.extension.STUDIO"
    key_limits = "company.sign_in.key_owners.active_until"
    confirms = "company.sign_in.recency.require_recent"

    def ready(self) -> None:
        """Load the declarations, then follow what Django says about signing in and out."""
        super().ready()
        if apps.is_installed("studio"):
            from company.sign_in import sessions  # noqa: PLC0415  when the models are ready

            sessions.watch()
