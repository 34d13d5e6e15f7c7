"""Statements for the rows of every save write what Django's `save()` would."""

from __future__ import annotations

import datetime
import uuid
from typing import Any

import pytest
from django.db import connection, models
from django.utils import timezone

from versioning.models import Event
from versioning.models.statements import find_conversion, inserted_fields
from versioning.models.versioned import MODELS

WRITTEN: list[Any] = [Event, *MODELS, *(model.version_model for model in MODELS)]
WRITTEN += [references for model in MODELS for references in model.version_model.reference_models]
FIELDS = [field for model in WRITTEN for field in inserted_fields(model)]
VALUES: dict[type[models.Field[Any, Any]], list[Any]] = {
    models.UUIDField: [uuid.UUID(int=0), uuid.uuid4()],
    models.DateTimeField: [
        timezone.now(),
        datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC),
        datetime.datetime(2026, 1, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=2))),
    ],
    models.BooleanField: [True, False],
    models.JSONField: [{}, [], {"ä": [1.5, None, True]}],
}


@pytest.mark.database
@pytest.mark.parametrize("field", FIELDS, ids=str)
def test_values_are_converted_as_django_converts_them(field: Any) -> None:
    target = field
    while target.remote_field is not None:
        target = target.target_field
    conversion = find_conversion(field)
    plain = "a text" if isinstance(target, models.CharField | models.TextField) else 1
    for value in VALUES.get(type(target), [plain]):
        ours = value if conversion is None else conversion(value)
        django = field.get_db_prep_save(value, connection)
        if isinstance(target, models.JSONField) and connection.vendor == "postgresql":
            ours, django = ours.obj, django.obj
        assert ours == django
        assert isinstance(django, type(ours))
