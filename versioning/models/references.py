"""The references of versions, as rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from django.db import models

from versioning.domain.config import Config
from versioning.models.statements import insert


class Reference(models.Model):
    """A version refers to a resource by id. Stored as a row, so that dependents can be found in one query."""

    target: ClassVar[type[Any]]
    """The kind of resource that is referred to."""
    fixed_by_code: ClassVar[bool] = False
    """Whether a code-defined agent has the references of its code, which no override changes."""

    target_id = models.CharField(max_length=200, db_index=True)
    target_uuid = models.UUIDField(null=True, editable=False)
    """The identity of the target if whoever published the version last was allowed to read it, otherwise
    null. The id alone is not enough: another workspace can take it once it is free."""

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.target_id

    @staticmethod
    def find(config: Config) -> Iterator[tuple[str, str]]:
        """Yield (field, id) for every reference of this kind in a configuration."""
        return iter(())

    @classmethod
    def write(cls, version: Any) -> None:
        """Insert the references of a new version, each target once."""
        targets = {target for _, target in cls.find(version.config)}
        insert(cls, [{"version_id": version.pk, "target_id": one, "target_uuid": None} for one in targets])
