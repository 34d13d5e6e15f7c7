"""The URLs of the pages about rollouts and usage, below those of a resource."""

from __future__ import annotations

from collections.abc import Iterator

from django.urls import URLPattern, path

from capabilities.rollouts.studio.rollouts import (
    CompletePage,
    LatestRolloutPage,
    RolloutPage,
    SharePage,
    StepsPage,
    StopPage,
    WeightsPage,
)
from capabilities.rollouts.studio.usage import UsagePage
from studio.kinds import StudioKind


def resource_urls(kind: StudioKind) -> Iterator[URLPattern]:
    prefix = "<str:resource>/rollouts/<str:rollout>/"
    for route, view, name in (
        ("<str:resource>/share/", SharePage, "share"),
        ("<str:resource>/runs/", UsagePage, "runs"),
        ("<str:resource>/rollouts/", LatestRolloutPage, "rollouts"),
        (prefix, RolloutPage, "rollout"),
        (f"{prefix}weights/", WeightsPage, "rollout_weights"),
        (f"{prefix}steps/", StepsPage, "rollout_steps"),
        (f"{prefix}stop/", StopPage, "rollout_stop"),
        (f"{prefix}complete/<str:arm>/", CompletePage, "rollout_complete"),
    ):
        yield path(route, view.as_view(kind=kind), name=kind.url_name(name))
