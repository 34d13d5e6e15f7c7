"""API keys do not outlive people."""

from __future__ import annotations

import datetime

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from pytest_django import Settings

from capabilities.delivery.streams import KeyListener
from tests.accounts.conftest import sign_in_with
from tests.conftest import Cast
from tests.support.identity_provider import IdentityProvider
from versioning.models import Membership
from versioning.models.keys import hash_secret
from versioning.serving.followed_keys import keys

DAY = datetime.timedelta(days=1)


def last_signed_in(name: str, days_ago: float | None, made_days_ago: float = 100) -> None:
    now = timezone.now()
    since = None if days_ago is None else now - days_ago * DAY
    User.objects.filter(username=name).update(last_login=since, date_joined=now - made_days_ago * DAY)
    keys.clear()


@pytest.mark.parametrize(
    ("days", "ago", "status"),
    [
        (None, (1000, 1000), 200),
        (30.0, (29, 1000), 200),
        (30.0, (31, 1000), 401),
        (30.0, (None, 31), 401),
        (30.0, (None, 29), 200),
        (0.0, (1000, 1000), 200),
    ],
)
def test_a_key_whose_owner_has_not_signed_in_for_so_long_is_refused(
    cast: Cast, settings: Settings, days: float | None, ago: tuple[float | None, float], status: int
) -> None:
    settings.EDITOR_KEYS_NEED_SIGN_IN_DAYS = days
    last_signed_in("edgar", *ago)
    answer = cast.edgar.get("/agents")
    assert answer.status == status
    assert status == 200 or answer.code == "owner_inactive"


def test_with_single_sign_on_it_is_30_days(cast: Cast, corp: IdentityProvider, settings: Settings) -> None:
    last_signed_in("edgar", 31)
    assert cast.edgar.get("/agents").status == 401
    sign_in_with(settings, corp, "password")
    assert cast.edgar.get("/agents").status == 200


def test_signing_in_makes_it_usable_again_and_service_accounts_are_exempt(
    cast: Cast, settings: Settings
) -> None:
    settings.EDITOR_KEYS_NEED_SIGN_IN_DAYS = 30.0
    last_signed_in("edgar", 31)
    last_signed_in("vera", 31)
    Membership.objects.filter(user__username="vera").update(is_service=True)
    assert (cast.edgar.get("/agents").status, cast.vera.get("/agents").status) == (401, 200)
    last_signed_in("edgar", 0)
    assert cast.edgar.get("/agents").status == 200


def test_a_stream_of_events_is_checked_again_when_its_key_ends(cast: Cast, settings: Settings) -> None:
    settings.EDITOR_KEYS_NEED_SIGN_IN_DAYS = 30.0
    last_signed_in("edgar", 29)
    rights = KeyListener(hash_secret(cast.edgar.key)).rights()
    since = User.objects.get(username="edgar").last_login
    assert rights is not None and since is not None and rights.expire_at == since + 30 * DAY
