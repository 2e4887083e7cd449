"""The documented backup of one machine holds everything, and the documented restore brings it back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from django.conf import settings
from psycopg.errors import InsufficientPrivilege

from controlplane.database import roles
from controlplane.database.roles import MIGRATOR, WEB
from controlplane.local import Services
from controlplane.local.data_folder import private_folder, write_environment
from tests.support.api_client import Api
from tests.support.documented_backup import checkout, commands, run

COUNTS = "SELECT (SELECT count(*) FROM access_auditrecord), (SELECT count(*) FROM overrides_override)"
LAST_SEQ = "SELECT last_seq FROM events_numbering"


def note(folder: Path, url: str) -> None:
    """As `make up` writes it."""
    private_folder(folder / "run")
    write_environment(folder, {"DATABASE_URL": url.replace("//controlplane@", f"//{MIGRATOR}@")})


@pytest.fixture
def source(services: Services, transactional_db: None) -> str:
    url = services.environment["DATABASE_URL"]
    url = url.replace("@/controlplane?", f"@/{settings.DATABASES['default']['NAME']}?")
    with psycopg.connect(url) as administrator, administrator.cursor() as cursor:
        roles.establish(cursor, passwords={})
    return url


@pytest.fixture
def target(services: Services, source: str) -> Iterator[str]:
    """An empty database with roles, as a new `make up` has."""
    url = services.environment["DATABASE_URL"]
    with psycopg.connect(url, autocommit=True) as administrator:
        administrator.execute("CREATE DATABASE restored")
    restored = url.replace("@/controlplane?", "@/restored?")
    with psycopg.connect(restored) as administrator, administrator.cursor() as cursor:
        roles.establish(cursor, passwords={})
    yield restored
    with psycopg.connect(url, autocommit=True) as administrator:
        administrator.execute("DROP DATABASE restored WITH (FORCE)")


def test_the_documented_backup_can_be_restored_as_documented(
    source: str, target: str, api: Api, tmp_path: Path
) -> None:
    assert (
        api.put(
            "overrides/task_resource?domain=staging", {"attributes": {"limits": {"cpu": "2"}}}
        ).status_code
        == 201
    )
    folder = checkout(tmp_path)
    note(folder / ".data", source)
    note(folder / ".data2", target)

    tables = run(commands("back up"), folder)
    run(commands("restore"), folder)

    assert int(tables) > 30
    with psycopg.connect(source) as before, psycopg.connect(target) as after:
        records, overrides = before.execute(COUNTS).fetchone() or (0, 0)
        assert after.execute(COUNTS).fetchone() == (records + 1, overrides), "One record of the restore."
        (jumped,), (last,) = (after.execute(LAST_SEQ).fetchone() or (0,) for after in (after, before))
        assert jumped == last + 1_000_000, "followers would miss events"
    # What the documented restart does.
    with psycopg.connect(target.replace("//controlplane@", f"//{MIGRATOR}@")) as owner:
        assert roles.grant(owner.cursor())
    with psycopg.connect(target.replace("//controlplane@", f"//{WEB}@")) as web:
        assert web.execute(COUNTS).fetchone()
        with pytest.raises(InsufficientPrivilege):
            web.execute("DELETE FROM access_auditrecord")


def test_a_shell_can_source_the_notes_of_make_up(tmp_path: Path) -> None:
    address = "postgresql://a@/b?host=%2Ftmp&port=5432"
    private_folder(tmp_path / "run")
    write_environment(tmp_path, {"DATABASE_URL": address, "SECRET_KEY": "it's $HOME `id`"})

    result = run('. run/environment; printf "%s|%s" "$DATABASE_URL" "$SECRET_KEY"', tmp_path)

    assert result == f"{address}|it's $HOME `id`"
