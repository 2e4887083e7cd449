import sys
from datetime import datetime
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError

from controlplane.formats.counts import counted
from controlplane.retention.archive import log_of, verify
from controlplane.retention.manifests import ArchiveInvalid
from controlplane.retention.reading import Selection, restore, select
from controlplane.retention.stores import StoreUnavailable, open_store


class Command(BaseCommand):
    help = "Print the rows of an archive as JSON lines, or restore them into a table beside the log."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("partition", help="Name of the archived partition: events_event_2026_08.")
        parser.add_argument("--type", default="", help="Event type, or the action of audit records.")
        parser.add_argument("--object-type", default="")
        parser.add_argument("--object-id", default="")
        parser.add_argument("--since", type=_time, help="First time, in ISO 8601.")
        parser.add_argument("--until", type=_time, help="Time before which rows are shown, in ISO 8601.")
        parser.add_argument(
            "--restore-into",
            metavar="TABLE",
            help="Create this table with the columns of the log and these rows. DATABASE_URL must be of the"
            " role controlplane_migrator.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        names = ("type", "object_type", "object_id", "since", "until")
        wanted = Selection(**{name: options[name] for name in names})
        name = options["partition"]
        try:
            store, log = open_store(settings.ARCHIVE_URL), log_of(name)
            verify(log, name, store)
            rows = select(log, name, store, wanted)
            if options["restore_into"]:
                count = restore(log, rows, options["restore_into"])
                self.stdout.write(f"{options['restore_into']}: {counted(count, 'row')}")
                return
            for line in rows:
                sys.stdout.write(line.decode())
        except (ArchiveInvalid, StoreUnavailable, DatabaseError) as error:
            raise CommandError(str(error).strip()) from error


def _time(text: str) -> datetime:
    at = datetime.fromisoformat(text)
    return at.astimezone() if at.tzinfo is None else at
