"""The application's configuration."""

from __future__ import annotations

from versioning.capabilities import EditorApp


class ReleasesConfig(EditorApp):
    """Publishes several resources together."""

    name = "capabilities.releases"
    label = "releases"
    verbose_name = "Releases"
    events = "capabilities.releases.events.EVENTS"
    follows = "capabilities.releases.models.FOLLOWER"
    keeps_workspaces = "capabilities.releases.models.Release"
    keeps_versions = "capabilities.releases.verbs.DRAFT_RELEASES"
    selectors = "capabilities.releases.verbs.SELECTOR"
    api = "capabilities.releases.api"
    verbs = {"releases": "capabilities.releases.verbs.Releases"}
    studio = "capabilities.releases.studio.pages.STUDIO"
