"""All verbs of experiments, as a table of contents: each is a function in the module named here."""

from __future__ import annotations

from capabilities.evaluation.experiments import (
    estimating,
    exporting,
    finding,
    scores,
    starting,
    stopping,
    submitting,
)
from capabilities.evaluation.experiments import labels as labelling
from versioning.verbs import Verbs


class Experiments(Verbs):
    """What can be done with experiments; `by` is the caller, the default is the application."""

    list = staticmethod(finding.list_readable)
    find = staticmethod(finding.find)
    start = starting.start
    estimate = estimating.estimate
    describe = staticmethod(finding.describe)
    delete = staticmethod(finding.delete)
    review_counts = staticmethod(finding.review_counts)
    export_results = staticmethod(exporting.export_results)
    review = staticmethod(finding.review)
    cancel = staticmethod(stopping.cancel)
    resume = staticmethod(stopping.resume)
    add_attempts = staticmethod(stopping.add_attempts)
    score_again = stopping.score_again
    submit = staticmethod(submitting.submit)
    finalize = staticmethod(submitting.finalize)
    add_label = staticmethod(labelling.add)
    labels = staticmethod(labelling.list_readable)
    agreement = labelling.agreement
    add_score = staticmethod(scores.add)
