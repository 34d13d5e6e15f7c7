"""A provider of identities, and an installation that signs people in through it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from pytest_django import Settings

from capabilities.accounts.sign_in import oidc
from tests.support.identity_provider import IdentityProvider, identity_provider


@pytest.fixture(scope="session")
def running_provider() -> Iterator[IdentityProvider]:
    """A provider for all tests of the process."""
    with identity_provider() as provider:
        yield provider


@pytest.fixture
def corp(running_provider: IdentityProvider, settings: Settings) -> IdentityProvider:
    """The provider as a fresh one; people sign in through it, or with a password."""
    for name, value in vars(IdentityProvider(url=running_provider.url)).items():
        setattr(running_provider, name, value)
    oidc.forget()
    sign_in_with(settings, running_provider)
    return running_provider


def sign_in_with(settings: Any, provider: IdentityProvider, mode: str = "both", **more: Any) -> None:
    """Set up an installation for a provider."""
    settings.EDITOR_OIDC = json.dumps([provider.settings(**more)])
    settings.EDITOR_SIGN_IN = mode
