import os
import secrets
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from controlplane.access.secrets.keys import new_key_line
from controlplane.access.secrets.sealed_columns import Rotation, reseal_all
from controlplane.errors import SecretsUnavailable


class Command(BaseCommand):
    help = (
        "Encrypt all stored secrets with the newest key: the first one in SECRETS_KEY_FILE. Run it after"
        " adding a key; the old key can then be removed from the file. Safe while the server runs."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--new-key",
            type=Path,
            metavar="FILE",
            help="Only add a new random key to the top of this file, which is created if it is missing.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["new_key"]:
            self._add_key(options["new_key"])
            return
        try:
            rotation = reseal_all()
        except SecretsUnavailable as error:
            raise CommandError(error.detail) from error
        self._report(rotation)

    def _add_key(self, file: Path) -> None:
        key_id = f"k{secrets.token_hex(4)}"
        try:
            _prepend(file, new_key_line(key_id))
        except OSError as error:
            raise CommandError(f"{file} cannot be written: {error.strerror}.") from error
        self.stdout.write(f"Added the key {key_id} to {file}. Run `manage.py rotate_secrets` to use it.")

    def _report(self, rotation: Rotation) -> None:
        total = sum(rotation.keys_in_use.values())
        self.stdout.write(
            f"Encrypted {rotation.resealed} of {total + len(rotation.failed)} secrets again with the key"
            f" {rotation.newest}."
        )
        for failure in rotation.failed:
            self.stderr.write(failure)
        if rotation.failed:
            raise CommandError(
                f"{len(rotation.failed)} secrets could not be decrypted. Do not remove any key from"
                " SECRETS_KEY_FILE."
            )
        self.stdout.write("All other keys can now be removed from SECRETS_KEY_FILE.")


def _prepend(file: Path, line: str) -> None:
    """Write the line above the file's content, in one step. Only the owner can read the result."""
    content = file.read_text() if file.exists() else ""
    draft = file.with_name(f".{file.name}.new")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as target:
        target.write(line + content)
    draft.replace(file)
