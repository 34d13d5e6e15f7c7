"""When an item is purged, what was answered to it goes from all results."""

from __future__ import annotations

from uuid import UUID

from django.db.models import Q

from evaluation.experiments.counting import count_change
from evaluation.experiments.models import Cell, Score


def remove_answers(dataset_id: UUID, item_id: UUID) -> None:
    """Remove what was said of an item from the results of all experiments, for good; the scores stay."""
    cells = Cell.objects.filter(item_id=item_id, experiment__dataset=dataset_id)
    Score.objects.filter(cell__in=cells).update(reason="", more_json="", label="")
    cells.update(output_json="", detail_json="", error_message="", review_comment="")
    count_change(Q(dataset=dataset_id))
