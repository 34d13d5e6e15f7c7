"""The application's configuration."""

from __future__ import annotations

from versioning.capabilities import EditorApp


class MailConfig(EditorApp):
    """Sends mail to people; all of it is off until `EMAIL_URL` is set."""

    name = "capabilities.mail"
    label = "mail"
    verbose_name = "Mail"
    personal_data = "capabilities.mail.personal_data.PERSONAL_DATA"
    needs = "studio"
    settings = "capabilities.mail.conf.SETTINGS"
    topics = "capabilities.mail.topics.OWN"
    log_readers = "capabilities.mail.outbox.read_to"
    jobs = "capabilities.mail.jobs.JOBS"
    studio = "capabilities.mail.extension.STUDIO"

    def ready(self) -> None:
        """Load the declarations, and begin with the first entries of the log after mail was turned on."""
        super().ready()
        from capabilities.mail import outbox  # noqa: PLC0415  when the models are ready
        from versioning.models import events  # noqa: PLC0415  as above

        events.before_entries(outbox.begin)
