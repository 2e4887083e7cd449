from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from controlplane.errors import ConfirmationRequired, ControlplaneError, RemoteFailed
from controlplane.identity.actors import Actor
from overrides.editing.apply import ApplyOptions
from overrides.editing.plans import ChangeKind
from overrides.importing.apply import Imported, apply_findings
from overrides.importing.flyteadmin import read_flyteadmin
from overrides.importing.flytectl import KINDS, read_files
from overrides.importing.report import Findings

_BAD_INPUT, _UNREACHABLE = 1, 2


class Command(BaseCommand):
    help = "Import overrides from flytectl's attribute files, or from a running FlyteAdmin."

    def add_arguments(self, parser: ArgumentParser) -> None:
        sources = parser.add_subparsers(dest="source", required=True)
        files = sources.add_parser("flytectl-files", help="attribute files, or folders of them")
        files.add_argument("paths", nargs="+", type=Path)
        files.add_argument("--kind", choices=sorted(KINDS), default="", help="of all the files")
        admin = sources.add_parser("flyteadmin", help="FlyteAdmin's REST API")
        admin.add_argument("url")
        admin.add_argument("--token-file", type=Path, help="a file that holds a bearer token")
        for one in (files, admin):
            one.add_argument("--dry-run", action="store_true", help="say what would change, change nothing")
            one.add_argument("--manager", default="import", help="who manages the values from now on")
            one.add_argument("--create-projects", action="store_true", help="create what is not registered")
            one.add_argument("--force", action="store_true", help="take values from other managers")
            one.add_argument("--prune", action="store_true", help="remove what the manager states no more")
            one.add_argument("--confirm", default="", help="what --dry-run says that must be confirmed")

    def handle(self, *args: Any, **options: Any) -> None:
        findings = self._read(options)
        for one in findings.skipped:
            self.stdout.write(f"left out  {one.place}: {one.reason}")
        for one in findings.problems:
            place = f"{one.place}:{one.line}:{one.column}" if one.line else one.place
            self.stderr.write(f"wrong     {place}: {one.reason}")
        if findings.problems:
            raise CommandError("Nothing was imported. Put this right first.", returncode=_BAD_INPUT)
        try:
            with transaction.atomic():
                imported = self._apply(findings, options)
                transaction.set_rollback(options["dry_run"])
        except ConfirmationRequired as error:
            advice = f"Look at it with --dry-run, then add --confirm {error.members['confirm']}."
            raise CommandError(f"{error.members['reason']} {advice}", returncode=_BAD_INPUT) from error
        except ControlplaneError as error:
            told = "\n".join(f"wrong     {one.pointer}: {one.message}" for one in error.errors)
            raise CommandError(f"{error.detail}\n{told}".strip(), returncode=_BAD_INPUT) from error
        self._tell(imported, dry_run=options["dry_run"], prunes=options["prune"])

    def _read(self, options: dict[str, Any]) -> Findings:
        try:
            if options["source"] == "flyteadmin":
                token = options["token_file"].read_text().strip() if options["token_file"] else ""
                return read_flyteadmin(options["url"], token=token)
            return read_files(_texts(options["paths"]), kind=options["kind"])
        except RemoteFailed as error:
            raise CommandError(error.detail, returncode=_UNREACHABLE) from error
        except ControlplaneError as error:
            raise CommandError(error.detail, returncode=_BAD_INPUT) from error
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"A file cannot be read: {error}", returncode=_BAD_INPUT) from error

    def _apply(self, findings: Findings, options: dict[str, Any]) -> Imported:
        wanted = ApplyOptions(
            options["manager"],
            force=options["force"],
            prune=options["prune"],
            confirm=options["confirm"],
            asks=options["prune"] and not options["dry_run"],
        )
        actor = Actor(None, "system:import", reason=f"Imported from {options['source']}.")
        return apply_findings(
            findings, options=wanted, create_missing=options["create_projects"], actor=actor
        )

    def _tell(self, imported: Imported, *, dry_run: bool, prunes: bool) -> None:
        for made in imported.made:
            self.stdout.write(f"created   {made.kind} {made.name}")
        for change in imported.plan.changes:
            self.stdout.write(f"{change.kind.value:9} {change.address}")
        counts = ", ".join(f"{imported.plan.count(kind)} {kind.value}" for kind in ChangeKind)
        word = "Would be" if dry_run else "Imported"
        self.stdout.write(f"{word}: {counts}; effective at {imported.plan.affected} scopes.")
        confirmation = imported.plan.confirmation
        if dry_run and prunes and confirmation:
            self.stdout.write(f"{confirmation.reason} To do it, add --confirm {confirmation.confirm}.")


def _texts(paths: list[Path]) -> dict[str, str]:
    files = [
        file
        for path in paths
        for file in (sorted([*path.rglob("*.yaml"), *path.rglob("*.yml")]) if path.is_dir() else [path])
    ]
    return {str(file): file.read_text() for file in files}
