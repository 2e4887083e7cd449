from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from controlplane.formats.counts import counted
from overrides.documents.export import export_documents, folder_files


class Command(BaseCommand):
    help = "Write all overrides into a folder, to switch to OVERRIDES_SOURCE=file without loss."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path)

    def handle(self, *args: Any, **options: Any) -> None:
        folder: Path = options["folder"]
        if folder.exists() and any(folder.iterdir()):
            raise CommandError(f"{folder} is not empty. Use a new folder, so that nothing is overwritten.")
        files = folder_files(export_documents())
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        self.stdout.write(
            f"Wrote {counted(len(files), 'file')}. Now start every process with OVERRIDES_SOURCE=file and\n"
            f"OVERRIDES_PATH={folder}\n"
            "then check GET /api/v1/overrides/source: its state must be `current`."
        )
