from argparse import ArgumentTypeError
from datetime import UTC, datetime, timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from controlplane.errors import ControlplaneError
from controlplane.identity.actors import system
from controlplane.installation.backup_reports import NEXT_WITHIN, BackupReport
from controlplane.installation.backups import report_backup


class Command(BaseCommand):
    help = "Report a finished backup, so that its age is watched. For the end of the job that makes backups."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--finished-at", type=_instant, help="RFC 3339 with an offset. The default is now."
        )
        parser.add_argument(
            "--next-within-seconds",
            type=int,
            default=int(NEXT_WITHIN.total_seconds()),
            help="After it, the next one is overdue. The default is %(default)s: 26 hours.",
        )
        parser.add_argument("--size-bytes", type=int, help="Size of the backup.")
        parser.add_argument("--location", default="", help="Where it is, without credentials.")

    def handle(self, *args: Any, **options: Any) -> None:
        within = timedelta(seconds=options["next_within_seconds"])
        report = BackupReport(options["finished_at"], within, options["size_bytes"], options["location"])
        try:
            backup = report_backup(report, actor=system("backup"))
        except ControlplaneError as error:
            raise CommandError(error.detail) from error
        due = backup.finished_at + timedelta(seconds=backup.next_within_seconds)
        self.stdout.write(f"Backup of {_show(backup.finished_at)} reported. The next is due by {_show(due)}.")


def _instant(text: str) -> datetime:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        at = None
    if at is None or at.tzinfo is None:
        raise ArgumentTypeError(f"{text!r} is not a time with an offset, such as 2026-11-25T02:00:00Z")
    return at


def _show(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
