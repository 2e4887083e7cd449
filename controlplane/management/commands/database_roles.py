from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, connection, transaction
from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from controlplane.database.roles import ROLES, establish


class Command(BaseCommand):
    help = (
        "Create the database roles migrator, web and worker, with their privileges and limits. DATABASE_URL"
        " must be of a superuser, or of the database's owner with CREATEROLE. Safe to run again."
    )
    # The tables may not exist yet.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--url-file",
            type=Path,
            action="append",
            default=[],
            help="File with the DATABASE_URL of a role, whose password is set to the one in the URL."
            " Repeatable.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        passwords = dict(_role_and_password(file) for file in options["url_file"])
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute("SET LOCAL lock_timeout = '10s'")
                verifiers = {role: _verifier(role, password) for role, password in passwords.items()}
                establish(cursor, passwords=verifiers, limits=settings.DATABASE_LIMITS)
        except DatabaseError as error:
            raise CommandError(f"The roles could not be created, and nothing was changed: {error}") from error
        self.stdout.write(f"Roles ready: {', '.join(ROLES)}.")


def _role_and_password(file: Path) -> tuple[str, str]:
    try:
        parts = conninfo_to_dict(file.read_text().strip())
    except (OSError, ProgrammingError) as error:
        raise CommandError(f"Cannot read a DATABASE_URL from {file}: {error}") from error
    role, password = parts.get("user"), parts.get("password")
    if role not in ROLES or not password:
        raise CommandError(
            f"The URL in {file} must contain one of the roles {', '.join(ROLES)} and a password."
        )
    return str(role), str(password)


def _verifier(role: str, password: str) -> str:
    """Return the SCRAM verifier, so that the password reaches neither the server nor its log."""
    encrypted = connection.connection.pgconn.encrypt_password(
        password.encode(), role.encode(), b"scram-sha-256"
    )
    return str(encrypted.decode())
