import json
import os
from argparse import ArgumentParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from controlplane.messaging.logins.nkeys import AccountKey
from controlplane.messaging.logins.server_config import Access, access_config


class Command(BaseCommand):
    help = (
        "Write the accounts and users for the configuration of NATS' server, from NATS_URL, NATS_ISSUER_SEED"
        " and DCM_AGENTS. Include the file in the server's configuration. It contains passwords."
    )
    # The database is not needed.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--output",
            type=Path,
            help="File to write, readable by its owner and group. Default: standard output.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        text = json.dumps(access_config(_access()), indent=2) + "\n"
        output: Path | None = options["output"]
        if output is None:
            self.stdout.write(text)
            return
        try:
            _replace(output, text)
        except OSError as error:
            raise CommandError(f"Cannot write {output}: {error.strerror}.") from error
        self.stdout.write(f"Wrote {output}. Restart NATS, or run `nats-server --signal reload`, if it runs.")


def _access() -> Access:
    parts = urlsplit(settings.NATS_URL)
    if not parts.username or not parts.password:
        raise CommandError("NATS_URL has no user or no password. Set it as nats://user:password@host:port.")
    if not settings.NATS_ISSUER_SEED:
        raise CommandError(
            "NATS_ISSUER_SEED is not set. Create a secret, for example with `openssl rand -hex 32`, and set"
            " NATS_ISSUER_SEED or NATS_ISSUER_SEED_FILE for all processes."
        )
    return Access(
        unquote(parts.username),
        unquote(parts.password),
        AccountKey(settings.NATS_ISSUER_SEED).public,
        settings.NATS_DCM_PASSWORD if settings.DCM_AGENTS else "",
    )


def _replace(path: Path, text: str) -> None:
    draft = path.with_name(f".{path.name}.new")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o640), "w") as file:
        file.write(text)
    draft.chmod(0o640)
    draft.replace(path)
