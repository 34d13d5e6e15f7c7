"""The models, for Django."""

from company.directory.models import DirectoryAccount

__all__ = ["DirectoryAccount"]
