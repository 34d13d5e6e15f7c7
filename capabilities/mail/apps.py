"""The application's configuration."""

from __future__ import annotations

from versioning.capabilities import EditorApp


class MailConfig(EditorApp):
    """Sends mail to people; all of it is off until `EMAIL_URL` is set."""

    name = "capabilities.mail"
    label = "mail"
    verbose_name = "Mail"
    personal_data = "capabilities.mail.models.PERSONAL_DATA"
    needs = "studio"
    settings = "capabilities.mail.conf.SETTINGS"
    topics = "capabilities.mail.recipients.OWN"
    log_readers = "capabilities.mail.running.read_to"
    jobs = "capabilities.mail.running.JOBS"
    studio = "capabilities.mail.studio.STUDIO"

    def ready(self) -> None:
        """Load the declarations; mail begins with the first log entries after it was turned on."""
        super().ready()
        from capabilities.mail import running  # noqa: PLC0415  when the models are ready
        from versioning.models import events  # noqa: PLC0415  as above

        events.before_entries(running.begin)
