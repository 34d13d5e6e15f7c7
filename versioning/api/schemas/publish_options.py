"""The members of bodies that are options for the checks of the gate, each declared by its check."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from drf_spectacular.utils import OpenApiParameter
from pydantic import create_model
from pydantic.alias_generators import to_snake

from versioning.api import parameters
from versioning.api.schemas.base import Json, RequestSchema
from versioning.domain.config import UNCHANGED
from versioning.editor import gate

if TYPE_CHECKING:

    class PublishOptions(RequestSchema):
        """The body of a request that can make a version live."""

    class TakeDownOptions(RequestSchema):
        """The body of a request that can leave a resource without a live version."""

else:
    if not apps.ready:
        raise ImproperlyConfigured("The bodies of requests are known when every application is ready.")

    def _body(name: str, doc: str, options: Iterable[gate.Option]) -> type[RequestSchema]:
        members: dict[str, Any] = {to_snake(option.member): (option.schema, UNCHANGED) for option in options}
        return create_model(name, __base__=RequestSchema, __doc__=doc, **members)

    PublishOptions = _body(
        "PublishOptions", "The body of what can make a version live.", gate.options().values()
    )
    TakeDownOptions = _body(
        "TakeDownOptions",
        "The body of what can make nothing live any more.",
        gate.options(for_take_down=True).values(),
    )


def take_down_parameters() -> list[OpenApiParameter]:
    """Return the query parameters of a deletion for the checks of the gate."""
    return [
        parameters.query(option.member, f"`true`: {option.help}.", enum=["true", "false"])
        for option in gate.options(for_take_down=True).values()
    ]


def options_of_query(given: Mapping[str, str]) -> dict[str, Any]:
    """Return the options among the query parameters of a deletion, by their Python names."""
    return {
        name: option.from_body(given[option.member] == "true")
        for name, option in gate.options(for_take_down=True).items()
        if option.member in given
    }


def options_of(body: Json) -> dict[str, Any]:
    """Return the options in a valid body, by their argument names in Python."""
    return {
        name: option.from_body(body[option.member])
        for name, option in gate.options().items()
        if option.member in body
    }
