"""Rollouts over HTTP."""

from __future__ import annotations

from typing import Final

from rest_framework.request import Request
from rest_framework.response import Response

from capabilities.rollouts.models import Rollout
from capabilities.rollouts.schemas import (
    STATES,
    RolloutAnswer,
    RolloutComplete,
    RolloutCreate,
    RolloutPage,
    RolloutStop,
    RolloutUpdate,
)
from capabilities.rollouts.verbs import Rollouts
from versioning.api import addresses, parameters
from versioning.api.base import EditorViewSet, with_etag
from versioning.api.paging import Page
from versioning.api.resources import options_of
from versioning.domain.access import Action

ORDERS: Final = {"startedAt": "started_at"}


class RolloutViewSet(EditorViewSet):
    """Other versions for a share of the requests."""

    job = "Release"
    subject = "rollout"
    actions = dict.fromkeys(("create", "update", "stop", "complete"), Action.PUBLISH)
    created = frozenset({"create"})
    errors = {
        "create": (404, 409),
        "update": (409,),
        "stop": (409,),
        "complete": (409,),
    }
    query = {
        "list": (
            *parameters.paging(100, ORDERS),
            parameters.KIND,
            parameters.RESOURCE_ID,
            parameters.query("state", "Only in this state.", enum=STATES),
            parameters.WORKSPACE,
        ),
    }
    requests = {
        "create": RolloutCreate,
        "update": RolloutUpdate,
        "stop": RolloutStop,
        "complete": RolloutComplete,
    }
    paths = {"id": (parameters.UUID, "The id of the rollout.")}
    responses = {
        "list": RolloutPage,
        "create": RolloutAnswer,
        "retrieve": RolloutAnswer,
        "update": RolloutAnswer,
        "stop": RolloutAnswer,
        "complete": RolloutAnswer,
    }

    @property
    def rollouts(self) -> Rollouts:
        """The verbs."""
        return Rollouts.current()

    def list(self, request: Request) -> Response:
        """List the rollouts of resources that the caller may read, newest first."""
        given = request.query_params
        found = self.rollouts.list(
            kind=given.get("kind"),
            resource_id=given.get("id"),
            state=given.get("state"),
            workspace_id=given.get("workspaceId"),
            by=self.caller,
        )
        page = Page.read(given, size=100, fields=ORDERS, then="pk")
        return self.page_of(page, found)

    def create(self, request: Request) -> Response:
        """Serve other versions to a share of the requests."""
        given = RolloutCreate.read(request)
        made = self.rollouts.start(
            given["resource"]["kind"],
            given["resource"]["id"],
            bucket_by=given["bucketBy"],
            arms=RolloutCreate.arms_of(given),
            by=self.caller,
            **options_of(given),
        )
        address = addresses.location(f"rollouts/{made.pk}")
        return with_etag(request, self.dump(made), status=201, headers={"Location": address})

    def retrieve(self, request: Request, id: str) -> Response:  # noqa: A002
        """Read a rollout."""
        return self._answer(request, self.rollouts.find(id, by=self.caller))

    def update(self, request: Request, id: str) -> Response:  # noqa: A002
        """Change the shares of a rollout."""
        given = RolloutUpdate.read(request)
        weights = [(arm["name"], arm["weight"]) for arm in given["arms"]]
        changed = self.rollouts.change(id, weights, by=self.caller, **options_of(given))
        return self._answer(request, changed)

    def stop(self, request: Request, id: str) -> Response:  # noqa: A002
        """Serve the active version to everyone again."""
        reason = RolloutStop.read(request).get("reason", "")
        return self._answer(request, self.rollouts.stop(id, reason=reason, by=self.caller))

    def complete(self, request: Request, id: str) -> Response:  # noqa: A002
        """Make the version of an arm the active one."""
        given = RolloutComplete.read(request)
        done = self.rollouts.complete(id, given["arm"], by=self.caller, **options_of(given))
        return self._answer(request, done)

    def _answer(self, request: Request, rollout: Rollout) -> Response:
        return with_etag(request, self.dump(rollout))
