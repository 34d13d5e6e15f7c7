"""All verbs of reviews, as a table of contents: each is a function in the module named here."""

from __future__ import annotations

from review.reviews import changing_reviews, finding, giving_verdicts, records, requesting
from versioning.verbs import Verbs


class Reviews(Verbs):
    """Reviews and verdicts: `editor.reviews.ask("agent", "writer", message="…", by=user)`.

    `by` is the caller; the default is the application, which cannot give verdicts.
    """

    ask = requesting.ask
    find = finding.find
    list = finding.list_readable
    change = changing_reviews.change
    give_verdict = giving_verdicts.give_verdict
    records_of = records.records_of
