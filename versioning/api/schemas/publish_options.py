"""The members of bodies that the checks of the gate understand: each is declared by the check."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from pydantic import create_model
from pydantic.alias_generators import to_snake

from versioning.api.schemas.base import Json, RequestSchema
from versioning.domain.config import UNCHANGED
from versioning.editor import gate

if TYPE_CHECKING:

    class PublishOptions(RequestSchema):
        """The body of what can make a version live."""

else:
    if not apps.ready:
        raise ImproperlyConfigured("The bodies of requests are known when every application is ready.")
    _members: dict[str, Any] = {
        to_snake(option.member): (option.schema, UNCHANGED) for option in gate.options().values()
    }
    PublishOptions = create_model(
        "PublishOptions",
        __base__=RequestSchema,
        __doc__="The body of what can make a version live.",
        **_members,
    )


def options_of(body: Json) -> dict[str, Any]:
    """Return the options in a body that is valid, by the names of the arguments in Python."""
    return {
        name: option.from_body(body[option.member])
        for name, option in gate.options().items()
        if option.member in body
    }
