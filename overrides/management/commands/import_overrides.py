from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from controlplane.errors import ConfirmationRequired, ControlplaneError, RemoteFailed
from controlplane.formats.counts import counted
from controlplane.identity.actors import Actor
from overrides.editing.apply import ApplyOptions
from overrides.editing.plans import ChangeKind
from overrides.importing.apply import ImportResult, apply_findings
from overrides.importing.flyteadmin import read_flyteadmin
from overrides.importing.flytectl import KINDS, read_files
from overrides.importing.report import ImportFindings

_BAD_INPUT, _UNREACHABLE = 1, 2


class Command(BaseCommand):
    help = "Import overrides from flytectl's attribute files or a running FlyteAdmin."

    def add_arguments(self, parser: ArgumentParser) -> None:
        sources = parser.add_subparsers(dest="source", required=True)
        files = sources.add_parser("flytectl-files", help="attribute files, or folders of them")
        files.add_argument("paths", nargs="+", type=Path)
        files.add_argument("--kind", choices=sorted(KINDS), default="", help="resource type of all files")
        admin = sources.add_parser("flyteadmin", help="FlyteAdmin's REST API")
        admin.add_argument("url")
        admin.add_argument("--token-file", type=Path, help="file with a bearer token")
        for source in (files, admin):
            source.add_argument(
                "--dry-run", action="store_true", help="show what would change without changing it"
            )
            source.add_argument("--manager", default="import", help="manager of the imported values")
            source.add_argument(
                "--create-projects", action="store_true", help="create missing projects and domains"
            )
            source.add_argument("--force", action="store_true", help="take over values of other managers")
            source.add_argument(
                "--prune", action="store_true", help="remove values that the manager no longer states"
            )
            source.add_argument("--confirm", default="", help="confirmation that --dry-run shows")

    def handle(self, *args: Any, **options: Any) -> None:
        findings = self._read(options)
        for issue in findings.skipped:
            self.stdout.write(f"skipped   {issue.place}: {issue.reason}")
        for issue in findings.problems:
            place = f"{issue.place}:{issue.line}:{issue.column}" if issue.line else issue.place
            self.stderr.write(f"error     {place}: {issue.reason}")
        if findings.problems:
            raise CommandError("Nothing was imported. Correct these errors first.", returncode=_BAD_INPUT)
        try:
            with transaction.atomic():
                imported = self._apply(findings, options)
                transaction.set_rollback(options["dry_run"])
        except ConfirmationRequired as error:
            advice = f"Review the plan with --dry-run, then add --confirm {error.members['confirm']}."
            raise CommandError(f"{error.members['reason']} {advice}", returncode=_BAD_INPUT) from error
        except ControlplaneError as error:
            field_errors = "\n".join(f"error     {issue.pointer}: {issue.message}" for issue in error.errors)
            raise CommandError(f"{error.detail}\n{field_errors}".strip(), returncode=_BAD_INPUT) from error
        self._print_result(imported, dry_run=options["dry_run"], prunes=options["prune"])

    def _read(self, options: dict[str, Any]) -> ImportFindings:
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
            raise CommandError(f"Cannot read a file: {error}", returncode=_BAD_INPUT) from error

    def _apply(self, findings: ImportFindings, options: dict[str, Any]) -> ImportResult:
        apply_options = ApplyOptions(
            options["manager"],
            force=options["force"],
            prune=options["prune"],
            confirm=options["confirm"],
            asks=options["prune"] and not options["dry_run"],
            heeds_freezes=not options["dry_run"],
            heeds_approvals=not options["dry_run"],
        )
        actor = Actor(None, "system:import", reason=f"Imported from {options['source']}.")
        return apply_findings(
            findings, options=apply_options, create_missing=options["create_projects"], actor=actor
        )

    def _print_result(self, imported: ImportResult, *, dry_run: bool, prunes: bool) -> None:
        for created in imported.installation:
            self.stdout.write(f"created   {created.kind} {created.name}")
        for change in imported.plan.changes:
            self.stdout.write(f"{change.kind.value:9} {change.address}")
        counts = ", ".join(f"{imported.plan.count(kind)} {kind.value}" for kind in ChangeKind)
        word = "Would be" if dry_run else "Imported"
        self.stdout.write(f"{word}: {counts}; effective at {counted(imported.plan.affected, 'scope')}.")
        confirmation = imported.plan.confirmation
        if dry_run and prunes and confirmation:
            self.stdout.write(f"{confirmation.reason} To confirm, add --confirm {confirmation.confirm}.")


def _texts(paths: list[Path]) -> dict[str, str]:
    files = [
        file
        for path in paths
        for file in (sorted([*path.rglob("*.yaml"), *path.rglob("*.yml")]) if path.is_dir() else [path])
    ]
    return {str(file): file.read_text() for file in files}
