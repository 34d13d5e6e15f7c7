"""The models of this application."""

from releases.models.releases import Release, ReleaseItem

__all__ = ["Release", "ReleaseItem"]
