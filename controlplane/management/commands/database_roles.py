from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, connection, transaction
from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from controlplane.database.roles import ROLES, establish


class Command(BaseCommand):
    help = (
        "Create the database roles of the migrator, web and worker, and give them their rights. "
        "DATABASE_URL must name a superuser, or the owner of the database with CREATEROLE. Safe to run again."
    )
    # There may be no tables yet.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--url-file",
            type=Path,
            action="append",
            default=[],
            help="A file with the DATABASE_URL of one of the roles; its password is set to that in the file.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        passwords = dict(_role_and_password(file) for file in options["url_file"])
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute("SET LOCAL lock_timeout = '10s'")
                verifiers = {role: _verifier(role, password) for role, password in passwords.items()}
                establish(cursor, passwords=verifiers)
        except DatabaseError as error:
            raise CommandError(f"The roles could not be created, nothing was changed: {error}") from error
        self.stdout.write(f"The roles {', '.join(ROLES)} are ready.")


def _role_and_password(file: Path) -> tuple[str, str]:
    try:
        parts = conninfo_to_dict(file.read_text().strip())
    except (OSError, ProgrammingError) as error:
        raise CommandError(f"{file} cannot be used: {error}") from error
    role, password = parts.get("user"), parts.get("password")
    if role not in ROLES or not password:
        raise CommandError(f"{file} must name one of {', '.join(ROLES)} with a password.")
    return str(role), str(password)


def _verifier(role: str, password: str) -> str:
    """As Postgres stores it: the password itself reaches neither the server nor its log."""
    encrypted = connection.connection.pgconn.encrypt_password(
        password.encode(), role.encode(), b"scram-sha-256"
    )
    return str(encrypted.decode())
