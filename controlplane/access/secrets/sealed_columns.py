"""The database columns that contain sealed secrets, and their re-encryption with the newest key."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django.apps import apps
from django.db import connection, transaction
from django.db.models import Model

from controlplane.access.secrets.key_file import current_keys
from controlplane.access.secrets.keys import KeyRing
from controlplane.access.secrets.sealing import key_id_of, seal_with, unseal_with
from controlplane.errors import SecretsUnavailable

_BATCH = 500


@dataclass(frozen=True, slots=True)
class SealedColumn:
    """A text column with sealed secrets. model: as "access.IdentityProvider". context: of a row's secret."""

    model: str
    field: str
    context: Callable[[Any], str]

    def __str__(self) -> str:
        return f"{self.model}.{self.field}"


@dataclass(slots=True)
class Rotation:
    """The result of a rotation. keys_in_use: key id to the number of secrets that still need it."""

    newest: str
    resealed: int = 0
    # Column and primary key of each secret that could not be decrypted, with the reason.
    failed: list[str] = field(default_factory=list)
    keys_in_use: Counter[str] = field(default_factory=Counter)


_columns: dict[str, SealedColumn] = {}


def register_sealed_column(model: str, field: str, context: Callable[[Any], str]) -> None:
    """Register a column for `manage.py rotate_secrets`. Call it where the column's model is defined."""
    column = SealedColumn(model, field, context)
    _columns[str(column)] = column


def sealed_columns() -> list[SealedColumn]:
    return [_columns[name] for name in sorted(_columns)]


def reseal_all() -> Rotation:
    """Seal all stored secrets with the newest key. Safe at any time, and safe to run again.

    A secret that is replaced meanwhile keeps its new value. Raises SecretsUnavailable without usable keys.
    """
    ring = current_keys()
    rotation = Rotation(ring.newest)
    for column in sealed_columns():
        _reseal_column(column, ring, rotation)
    return rotation


def _reseal_column(column: SealedColumn, ring: KeyRing, rotation: Rotation) -> None:
    model = apps.get_model(column.model)
    _wait_for_writers(model)
    rows = model._default_manager.exclude(**{column.field: None}).exclude(**{column.field: ""})
    for row in rows.order_by("pk").iterator(chunk_size=_BATCH):
        try:
            _reseal_row(column, row, ring, rotation)
        except SecretsUnavailable as error:
            rotation.failed.append(f"{column} of {row.pk}: {error.detail}")


def _wait_for_writers(model: type[Model]) -> None:
    """Wait for transactions that are writing to the table: they may have sealed with an older key."""
    name = connection.ops.quote_name(model._meta.db_table)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL lock_timeout = '10s'")
        cursor.execute(f"LOCK TABLE {name} IN SHARE MODE")


def _reseal_row(column: SealedColumn, row: Model, ring: KeyRing, rotation: Rotation) -> None:
    sealed = getattr(row, column.field)
    if key_id_of(sealed) != ring.newest:
        context = column.context(row)
        replacement = seal_with(ring, unseal_with(ring, sealed, context), context)
        # Compare and set: a value that was written since the read is already sealed with the newest key.
        matching = type(row)._default_manager.filter(pk=row.pk, **{column.field: sealed})
        rotation.resealed += matching.update(**{column.field: replacement})
    else:
        unseal_with(ring, sealed, column.context(row))
    rotation.keys_in_use[ring.newest] += 1
