from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from controlplane.access.first_admin import ensure_admin


class Command(BaseCommand):
    help = "Create the administrator `admin` if it is missing; write its token and password into a folder."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--data-dir", type=Path, default=Path(".data"))

    def handle(self, *args: Any, **options: Any) -> None:
        folder: Path = options["data_dir"]
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        ensure_admin(folder)
        self.stdout.write(
            f"admin: token in {folder / 'admin.token'}, password in {folder / 'admin.password'}"
        )
