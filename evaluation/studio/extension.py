"""The application's extension of the studio."""

from __future__ import annotations

from typing import Final

from django.utils.translation import gettext_lazy as _

from evaluation.gates.check import EvaluationRequired
from evaluation.scoring.kind import SCORER
from evaluation.studio import adding, evidence, experiments
from studio.extensions import Extension, ResourceTab, WorkspaceTab
from studio.navigation import MainPage
from versioning.domain.access import Right

STUDIO: Final = Extension(
    urls="evaluation.studio.urls",
    own_urls="evaluation.studio.own_urls",
    answer_actions=adding.answer_actions,
    panels=evidence.panels,
    subject_panels=evidence.subject_panels,
    notes=evidence.notes,
    named_in_events=experiments.named_in_events,
    reasons={EvaluationRequired.code: _("Publish without evidence")},
    resource_urls="evaluation.studio.trying.resource_urls",
    resource_tabs=[
        ResourceTab(
            page="try_scorer", title=_("Try"), right=Right.SAVE, kinds=lambda kind: kind.slug == SCORER.slug
        )
    ],
    pages=[MainPage(page="datasets", title=_("Datasets"), place=60)],
    tabs=[
        WorkspaceTab(page="datasets", title=_("Datasets"), right=Right.READ_DRAFTS, place=60),
        WorkspaceTab(page="gates", title=_("Gates"), right=Right.READ_DRAFTS, place=61),
    ],
)
