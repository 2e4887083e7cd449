"""A running issuer that the control plane can reach, and workloads' rules."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from controlplane.access.issuers.documents import DOCUMENTS
from tests.support.token_issuer import TokenIssuer, running_issuer


@pytest.fixture
def issuer(settings) -> Iterator[TokenIssuer]:
    settings.OUTGOING_ALLOWED_NETWORKS = ["127.0.0.0/8"]
    with running_issuer() as server:
        yield server
    DOCUMENTS.clear()
