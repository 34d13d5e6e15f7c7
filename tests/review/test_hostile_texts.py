"""Texts that Python and forms can carry but JSON cannot: refused by field, nothing saved."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from capabilities.review.models import Review, Verdict
from tests.conftest import Cast
from tests.support.api import Kind
from tests.support.doors import make_draft, verbs
from tests.support.reviews import ask, reference, require_approvals
from tests.support.studio import Visitor, page_of
from versioning.conf import get_editor
from versioning.domain.errors import Invalid
from versioning.models import Event

NOT_STORABLE = pytest.mark.parametrize("text", ["a\0b", "a\ud800b"])


def user(name: str) -> User:
    return User.objects.get(username=name)


@NOT_STORABLE
def test_invalid_texts_of_reviews_and_verdicts_are_refused(cast: Cast, kind: Kind, text: str) -> None:
    draft, reviews = make_draft(cast, kind), get_editor().reviews
    with pytest.raises(Invalid, match="message"):
        reviews.ask(reference(kind)["kind"], "writer", message=text, by=user("edgar"))
    assert not Review.objects.exists()
    review = ask(cast.edgar, kind)
    with pytest.raises(Invalid, match="body"):
        reviews.give_verdict(review["id"], version_id=draft, verdict="approve", body=text, by=user("paula"))
    assert not Verdict.objects.exists()


@NOT_STORABLE
def test_invalid_reasons_for_a_bypass_are_refused(cast: Cast, kind: Kind, text: str) -> None:
    draft = make_draft(cast, kind)
    require_approvals(1)
    before = Event.objects.count()
    with pytest.raises(Invalid, match=r"bypassReview\.reason"):
        verbs(kind).publish("writer", draft, bypass_review=text, by=user("alice"))
    assert Event.objects.count() == before


def test_invalid_reasons_for_a_bypass_are_refused_in_the_studio(cast: Cast, kind: Kind) -> None:
    draft = make_draft(cast, kind)
    require_approvals(1)
    before = Event.objects.count()
    window, page = Visitor("alice"), page_of(kind, "publish")
    shown = window.get(page)
    sent = {name: shown.field(name) for name in ("tag", "overrules")}
    seen = window.post(page, version=draft, **sent, reason="a\0b")
    assert (seen.status, Event.objects.count()) == (400, before)
