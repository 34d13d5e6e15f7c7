"""The model providers that agents may name, over HTTP."""

from __future__ import annotations

from typing import Annotated

from rest_framework.request import Request
from rest_framework.response import Response

from versioning.api.base import EditorViewSet
from versioning.api.schemas import ResponseSchema, SerializedBy, Source
from versioning.conf import get_editor
from versioning.domain.provider_catalog import ListedProvider


class MissingExtra(ResponseSchema):
    """The extra of the agent library that is not installed: `pydantic-ai-slim[extra]`."""

    extra: str


def _missing(provider: ListedProvider) -> str | dict[str, str] | None:
    extra = provider.missing_extra
    return {"extra": extra} if extra is not None else provider.missing_variable


class ProviderAnswer(ResponseSchema):
    """A provider: built in (`kind` is its name), like a built-in one, or of the application (`code`)."""

    name: str
    kind: str
    ready: Annotated[bool, Source("is_ready")]
    missing: Annotated[str | MissingExtra | None, Source(_missing), SerializedBy(lambda missing: missing)]


class ProviderList(ResponseSchema):
    """All providers by name, each with the first missing variable or package; never a key."""

    providers: Annotated[list[ProviderAnswer], Source(lambda catalog: catalog.all())]


class ProviderViewSet(EditorViewSet):
    """The providers of models."""

    job = "Administer"
    subject = "provider"
    actions = {"list": None}
    responses = {"list": ProviderList}

    def list(self, request: Request) -> Response:
        """List the providers that agents may name in their model."""
        return Response(self.dump(get_editor().providers()))
