"""The application's configuration."""

from __future__ import annotations

from versioning.capabilities import EditorApp


class MailConfig(EditorApp):
    """Sends mail to people; all of it is off until `EMAIL_URL` is set."""

    name = "mail"
    verbose_name = "Mail"
    needs = "studio"
    settings = "mail.conf.SETTINGS"
    topics = "mail.topics.OWN"
    log_readers = "mail.outbox.read_to"
    jobs = "mail.jobs.JOBS"
    studio = "mail.extension.STUDIO"
