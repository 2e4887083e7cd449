"""The connection of configuration polls: one prepared statement for all polls that wait.

One statement has one snapshot: what a poll gets and who may get it are of the same moment.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from struct import Struct
from uuid import UUID

from psycopg.pq.abc import PGresult

from controlplane.database.prepared_connection import PreparedConnection

_OPTIONS = (
    "-c statement_timeout=2000 -c plan_cache_mode=force_generic_plan"
    # Statistics may be missing; both tables have an index for this statement.
    " -c enable_hashjoin=off -c enable_mergejoin=off -c enable_seqscan=off"
)
_APPLICATION = "controlplane-config-polls"
_SECONDS = Struct(">d")


@dataclass(frozen=True, slots=True)
class ActiveBundle:
    """The active bundle of a data plane. principal, owner, version: of the data plane."""

    principal: str
    owner: UUID | None
    version: int
    revision: int
    digest: str


@dataclass(frozen=True, slots=True)
class PollState:
    """The result of the statement. access: the access epoch. now: Postgres' time, in seconds since 1970.

    bundles: by the name of the data plane; those without an active bundle are missing.
    """

    access: bytes
    now: float
    bundles: dict[str, ActiveBundle]


class PollConnection:
    def __init__(self, connection: PreparedConnection) -> None:
        self._connection = connection

    @classmethod
    async def open(cls) -> PollConnection:
        """Connect as Django does. Raises psycopg.Error."""
        return cls(await PreparedConnection.open(_STATEMENT, application=_APPLICATION, options=_OPTIONS))

    async def read(self, data_planes: Iterable[str]) -> PollState | None:
        """Return the state for these names; None if there is no access epoch. Raises psycopg.Error."""
        (result,) = await self._connection.execute([",".join(data_planes).encode()])
        if not result.ntuples:
            return None
        (now,) = _SECONDS.unpack(result.get_value(0, 1) or b"")
        rows = range(result.ntuples)
        bundles = {_text(result, row, 2): _bundle(result, row) for row in rows if result.get_value(row, 2)}
        return PollState(result.get_value(0, 0) or b"", now, bundles)

    async def close(self) -> None:
        await self._connection.close()


def _bundle(result: PGresult, row: int) -> ActiveBundle:
    owner, version, revision = (result.get_value(row, column) for column in (4, 5, 6))
    return ActiveBundle(
        _text(result, row, 3),
        None if owner is None else UUID(bytes=owner),
        int.from_bytes(version or b"", signed=True),
        int.from_bytes(revision or b"", signed=True),
        _text(result, row, 7),
    )


def _text(result: PGresult, row: int, column: int) -> str:
    return (result.get_value(row, column) or b"").decode()


# Names contain no comma. Without a bundle there is one row, with the state alone.
_STATEMENT = b"""
SELECT access.epoch, extract(epoch FROM now())::float8,
       plane.name, plane.principal, plane.team_id, plane.version, plane.active_revision, bundle.digest
FROM access_epoch AS access
LEFT JOIN (
    registry_dataplane AS plane
    JOIN registry_agentconfigbundle AS bundle
      ON bundle.data_plane_id = plane.name AND bundle.revision = plane.active_revision
) ON plane.name = ANY (string_to_array($1, ','))
WHERE access.id = 1
"""
