from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from controlplane.access.flyte_auth.sections import InvalidConfiguration
from overrides.flyte.cloud_events_file.applying import apply
from overrides.flyte.cloud_events_file.reading import read


class Command(BaseCommand):
    help = "Make sinks of the `cloudEvents:` and `externalEvents:` in a configuration file of Flyte."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="FlyteAdmin's file, ConfigMap or Helm values.")
        parser.add_argument("--dry-run", action="store_true", help="Show what would change.")

    def handle(self, *args: Any, **options: Any) -> None:
        file: Path = options["file"]
        try:
            plan = read(file.read_text(), file.name)
        except (OSError, UnicodeDecodeError, InvalidConfiguration) as error:
            raise CommandError(str(error)) from error
        for warning in plan.warnings:
            self.stderr.write(f"warning: {warning}")
        results = apply(plan, dry_run=options["dry_run"])
        would = "would be " if options["dry_run"] else ""
        for result in results:
            if result.action != "failed":
                self.stdout.write(f"{result.name}: {would}{result.action}")
        if not results:
            self.stdout.write("No sinks: the file switches nothing on.")
        if failed := [result for result in results if result.action == "failed"]:
            raise CommandError("\n".join(f"{result.name}: {result.reason}" for result in failed))
