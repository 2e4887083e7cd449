from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from controlplane.access.first_admin import ensure_admin


class Command(BaseCommand):
    help = "Create the administrator `admin` if it is missing, and write its token and password to files."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--data-dir", type=Path, default=Path(".data"), help="Folder for the files.")

    def handle(self, *args: Any, **options: Any) -> None:
        folder: Path = options["data_dir"]
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        ensure_admin(folder)
        self.stdout.write(
            f"Administrator: admin. Token: {folder / 'admin.token'}. Password: {folder / 'admin.password'}."
        )
