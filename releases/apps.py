"""The application's configuration."""

from __future__ import annotations

from versioning.capabilities import EditorApp


class ReleasesConfig(EditorApp):
    """Publishes several resources together."""

    name = "releases"
    verbose_name = "Releases"
    events = "releases.events.EVENTS"
    follows = "releases.models.releases.FOLLOWER"
    keeps_workspaces = "releases.models.Release"
    keeps_versions = "releases.selecting.DRAFT_RELEASES"
    selectors = "releases.selecting.SELECTOR"
    api = "releases.api_urls"
    verbs = {"releases": "releases.verbs.Releases"}
    studio = "releases.studio.extension.STUDIO"
