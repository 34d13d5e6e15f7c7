"""What this application stores."""

from releases.models.releases import Release, ReleaseItem

__all__ = ["Release", "ReleaseItem"]
