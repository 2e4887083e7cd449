"""An installation with one identity provider."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from controlplane.access import attempt_counters
from controlplane.access.issuers.documents import DOCUMENTS
from tests.support.identity_provider import IdentityProvider
from tests.support.logins import PUBLIC_URL, Person, provider_settings

_numbers = count(1)
Configure = Callable[..., None]


@pytest.fixture(autouse=True)
def _nothing_remembered() -> None:
    attempt_counters.start_over()
    DOCUMENTS.clear()


@pytest.fixture
def configure(db: None, settings: Any, identity_provider: IdentityProvider) -> Configure:
    """Configure the provider, with changes to its document."""

    def run(**changes: Any) -> None:
        settings.PUBLIC_URL = PUBLIC_URL
        settings.IDENTITY_PROVIDERS = [provider_settings(identity_provider, **changes)]

    run()
    return run


@pytest.fixture
def person(configure: Configure, identity_provider: IdentityProvider) -> Person:
    """A person with an account that nobody had before."""
    return Person(identity_provider, f"ada-{next(_numbers)}")
