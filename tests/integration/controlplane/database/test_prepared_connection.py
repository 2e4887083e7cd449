"""The connection with one prepared statement, against real Postgres."""

from __future__ import annotations

import asyncio

import psycopg
import pytest
from django.db import connection

from controlplane.database.prepared_connection import PreparedConnection
from tests.support.waiting import until

APPLICATION = "prepared-test"
HALF = b"SELECT 100 / $1::bigint"
BIG = b"SELECT length($1::bytea)::bigint"
SLOW = b"SELECT pg_sleep(30)"


@pytest.fixture(autouse=True)
def _database(transactional_db):
    pass


def use(statement, story, options=""):
    async def run():
        opened = await PreparedConnection.open(statement, application=APPLICATION, options=options)
        try:
            return await story(opened)
        finally:
            await opened.close()

    return asyncio.run(asyncio.wait_for(run(), 20))


def number(value: int) -> bytes:
    return value.to_bytes(8)


def integer(results) -> int:
    return int.from_bytes(results[0].get_value(0, 0))


def count_and_close() -> int:
    """Count this test's connections at Postgres, in a thread that keeps none of its own."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE application_name = %s", [APPLICATION])
            return cursor.fetchone()[0]
    finally:
        connection.close()


def end_connections() -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = %s",
            [APPLICATION],
        )
        return cursor.fetchone()[0]


def test_the_statement_runs_again_and_again():
    async def story(opened):
        return [integer(await opened.execute([number(value)])) for value in (1, 2, 5)]

    assert use(HALF, story) == [100, 50, 20]


def test_an_error_is_raised_and_the_connection_goes_on():
    async def story(opened):
        with pytest.raises(psycopg.OperationalError, match="division by zero"):
            await opened.execute([number(0)])
        return integer(await opened.execute([number(4)]))

    assert use(HALF, story) == 25


def test_a_statement_that_cannot_be_prepared_leaves_no_connection():
    with pytest.raises(psycopg.OperationalError, match="no_such_table"):
        use(b"SELECT * FROM no_such_table", None)

    assert end_connections() == 0


def test_a_parameter_that_fits_into_no_socket_is_sent_in_pieces():
    async def story(opened):
        return [integer(await opened.execute([b"x" * size])) for size in (30_000_000, 3)]

    assert use(BIG, story) == [30_000_000, 3]


def test_other_statements_run_between_two_of_the_prepared_one():
    async def story(opened):
        before = integer(await opened.execute([number(1)]))
        rows = await opened.rows("SELECT generate_series(1, %s)", 3)
        with pytest.raises(psycopg.Error):
            await opened.rows("SELECT 1 / %s", 0)
        return before, rows, integer(await opened.execute([number(2)]))

    assert use(HALF, story) == (100, [(1,), (2,), (3,)], 50)


def test_a_limit_of_the_options_holds():
    async def story(opened):
        with pytest.raises(psycopg.OperationalError, match="statement timeout"):
            await opened.execute()

    use(SLOW, story, options="-c statement_timeout=100")


def test_a_connection_that_ends_in_a_statement_raises_in_it():
    async def story(opened):
        waiting = asyncio.get_running_loop().create_task(opened.execute())
        await asyncio.sleep(0.3)
        assert await asyncio.to_thread(end_and_close) == 1
        with pytest.raises(psycopg.OperationalError):
            await waiting
        with pytest.raises(psycopg.OperationalError):
            await opened.execute()

    use(SLOW, story)


def test_a_statement_that_nobody_confirms_in_time_raises_and_ends_the_connection(settings):
    settings.DATABASE_COMMIT_WAIT_SECONDS = 0.2

    async def story(opened):
        with pytest.raises(psycopg.OperationalError, match=r"did not confirm the statement within 0.2 s"):
            await opened.execute()
        with pytest.raises(psycopg.OperationalError):
            await opened.execute()
        # Postgres itself goes on until the statement ends.
        await asyncio.to_thread(until, lambda: count_and_close() == 0)

    use(b"SELECT pg_sleep(0.6)", story)


def test_a_connection_that_ended_between_two_statements_raises_in_the_next():
    async def story(opened):
        await opened.execute([number(1)])
        assert await asyncio.to_thread(end_and_close) == 1
        await asyncio.sleep(0.3)
        with pytest.raises(psycopg.OperationalError):
            await opened.execute([number(1)])

    use(HALF, story)


def test_a_closed_connection_raises_and_closes_again_without_harm():
    async def story(opened):
        await opened.close()
        with pytest.raises(psycopg.OperationalError):
            await opened.execute([number(1)])
        # Whoever got the socket's number meanwhile keeps its reader.
        reader, writer = await asyncio.open_connection(*(await listener()))
        await opened.close()
        writer.write(b"ping\n")
        return await reader.readline()

    assert use(HALF, story) == b"ping\n"


async def listener():
    """The address of a server that sends back what it gets."""

    async def echo(reader, writer):
        writer.write(await reader.readline())
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    return server.sockets[0].getsockname()


def end_and_close() -> int:
    try:
        return end_connections()
    finally:
        connection.close()
