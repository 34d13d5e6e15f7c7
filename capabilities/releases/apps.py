"""The application's configuration."""

from __future__ import annotations

from versioning.capabilities import EditorApp


class ReleasesConfig(EditorApp):
    """Publishes several resources together."""

    name = "capabilities.releases"
    label = "releases"
    verbose_name = "Releases"
    events = "capabilities.releases.events.EVENTS"
    follows = "capabilities.releases.models.releases.FOLLOWER"
    keeps_workspaces = "capabilities.releases.models.Release"
    keeps_versions = "capabilities.releases.selecting.DRAFT_RELEASES"
    selectors = "capabilities.releases.selecting.SELECTOR"
    api = "capabilities.releases.api_urls"
    verbs = {"releases": "capabilities.releases.verbs.Releases"}
    studio = "capabilities.releases.studio.extension.STUDIO"
