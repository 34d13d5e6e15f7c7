"""The jobs of workers for experiments."""

from __future__ import annotations

import datetime
from typing import Final

from django.conf import settings
from django.db.models import Q
from django.utils import timezone

from capabilities.evaluation.experiments import running
from capabilities.evaluation.experiments.counting import count_change
from capabilities.evaluation.experiments.keeping import needed_experiments
from capabilities.evaluation.experiments.models import Cell, Score
from versioning.worker.jobs import Periodic, Queue

HOUR: Final = 3600.0
AT_ONCE: Final = 1000
THREADS: Final = 2 * max(int(settings.EDITOR_EVALUATION_CONCURRENCY), 2)
"""A workspace takes at most half of them."""
EMPTY: Final = {
    "output_json": "",
    "is_cut": True,
    "detail_json": "",
    "error_message": "",
    "review_comment": "",
}


def remove_old() -> None:
    """Remove outputs that are older than `EDITOR_KEEP_RESULTS` days, in batches; 0 keeps all of them.

    The results stay, with their scores and without what was said. Those of experiments that are needed are
    left as they are.
    """
    if not settings.EDITOR_KEEP_RESULTS:
        return
    before = timezone.now() - datetime.timedelta(days=settings.EDITOR_KEEP_RESULTS)
    old = Cell.objects.over().filter(ended_at__lt=before).exclude(output_json="")
    old = old.exclude(experiment__in=needed_experiments())
    while some := list(old.order_by("ended_at").values_list("pk", flat=True)[:AT_ONCE]):
        Score.objects.filter(cell__in=some).update(reason="", more_json="")
        Cell.objects.filter(pk__in=some).update(**EMPTY)
        count_change(Q(pk__in=Cell.objects.filter(pk__in=some).values("experiment")))


JOBS: Final = (
    Queue(
        name="experiments",
        model="evaluation.Cell",
        run=running.run,
        threads=THREADS,
        at_once=1,  # so that a slow answer delays only its own item
    ),
    Periodic(name="cancelled experiments", run=running.stop_cancelled, every=1.0, in_each_worker=True),
    Periodic(name="old results", run=remove_old, every=HOUR),
)
