"""COPY fails with the errors that everybody else handles."""

from __future__ import annotations

import pytest
from django.db import DataError, IntegrityError, transaction

from controlplane.database.bulk import copy_rows
from overrides.models import Domain


@pytest.mark.django_db
def test_an_error_of_copy_is_one_of_djangos() -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        copy_rows(Domain, ("id", "name"), [("twice", "twice"), ("twice", "twice")])
    with pytest.raises(DataError), transaction.atomic():
        copy_rows(Domain, ("id", "name"), [("x" * 5000, "x")])
