"""The application's configuration."""

from __future__ import annotations

from versioning.capabilities import EditorApp


class StudioConfig(EditorApp):
    name = "studio"
    personal_data = "studio.personal_data.PERSONAL_DATA"
    follows = "studio.examples.FOLLOWER"
    studio = "studio.publishing.drafts.STUDIO"
    system_checks = "studio.kind_checks.check_words"
