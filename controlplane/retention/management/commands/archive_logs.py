from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from controlplane.database.clock import statement_now
from controlplane.formats.counts import counted
from controlplane.retention.archive import archive_partition, log_of, verify
from controlplane.retention.cycle import retain, tend_partitions
from controlplane.retention.manifests import ArchiveInvalid
from controlplane.retention.partitions import partitions_of
from controlplane.retention.stores import StoreUnavailable, open_store


class Command(BaseCommand):
    help = (
        "Make partitions for the coming months, archive past partitions of the event log and the audit log"
        " to ARCHIVE_URL, and drop those that are older than their retention. Workers do the same."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--verify", metavar="PARTITION", help="Read one archive and compare it only.")
        parser.add_argument("--again", metavar="PARTITION", help="Write the archive of one partition again.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            if name := options["verify"] or options["again"]:
                self._one(name, again=bool(options["again"]))
            else:
                self._round()
        except (ArchiveInvalid, StoreUnavailable) as error:
            raise CommandError(str(error)) from error

    def _round(self) -> None:
        now = statement_now()
        tend_partitions(now=now)
        outcome = retain(now=now)
        for word, names in (("archived", outcome.archived), ("dropped", outcome.dropped)):
            for name in names:
                self.stdout.write(f"{name}: {word}")
        if outcome.refused:
            raise CommandError("\n".join(f"{name}: {reason}" for name, reason in outcome.refused.items()))

    def _one(self, name: str, *, again: bool) -> None:
        store, log = open_store(settings.ARCHIVE_URL), log_of(name)
        if again:
            partition = next((part for part in partitions_of(log) if part.name == name), None)
            if partition is None:
                raise CommandError(f"{log.table} has no partition {name}.")
            archive_partition(log, partition, store)
        manifest = verify(log, name, store)
        self.stdout.write(f"{name}: {counted(manifest.count, 'row')}, sha256 {manifest.sha256}: verified")
