"""The models of this application."""

from capabilities.releases.models.releases import Release, ReleaseItem

__all__ = ["Release", "ReleaseItem"]
