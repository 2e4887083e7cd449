"""The connection that polls the revision, with one small statement before each batch of responses."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import Any

from controlplane.database.prepared_connection import PreparedConnection

_TIMEOUT = "-c statement_timeout=2000"
_APPLICATION = "controlplane-fast-reads"
_SECONDS = Struct(">d")


@dataclass(slots=True)
class RevisionState:
    """The result of one poll. written: the transaction that wrote the revision, which identifies a restored
    database whose revisions rise again. catalogue: moves when a project or domain is removed; contents: when
    one is added or changed. now: Postgres' time, in seconds since 1970."""

    revision: int
    written: bytes
    access: bytes
    catalogue: bytes
    contents: bytes
    now: float


class RevisionConnection:
    def __init__(self, connection: PreparedConnection) -> None:
        self._connection = connection

    @classmethod
    async def open(cls) -> RevisionConnection:
        """Connect as Django does. Raises psycopg.Error."""
        return cls(await PreparedConnection.open(_POLL, application=_APPLICATION, options=_TIMEOUT))

    async def poll(self) -> RevisionState | None:
        """Return the state, or None if the polled rows are missing. Raises psycopg.Error."""
        (result,) = await self._connection.execute()
        if not result.ntuples:
            return None
        values = [result.get_value(0, column) or b"" for column in range(result.nfields)]
        (now,) = _SECONDS.unpack(values[5])
        return RevisionState(int.from_bytes(values[0]), values[1], values[2], values[3], values[4], now)

    async def rows(self, statement: str, *parameters: int) -> list[tuple[Any, ...]]:
        """Run any other statement between two polls. Raises psycopg.Error."""
        return await self._connection.rows(statement, *parameters)

    async def close(self) -> None:
        await self._connection.close()


_POLL = b"""
SELECT counter.revision, counter.xmin, access.epoch, catalogue.epoch, catalogue.contents,
       extract(epoch FROM now())::float8
FROM overrides_revisioncounter AS counter, access_epoch AS access, overrides_catalogueepoch AS catalogue
WHERE counter.id = 1 AND access.id = 1 AND catalogue.id = 1
"""
