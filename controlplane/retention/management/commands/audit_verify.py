from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from controlplane.access.audit_chain.verify import verify
from controlplane.retention.partitions import audit_kept_from


class Command(BaseCommand):
    help = "Verify the hash chain of the audit log, and name each changed, deleted or inserted record."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--newest", type=int, metavar="DAYS", help="Only the newest sealed days.")
        parser.add_argument(
            "--root",
            help="The root that the log of a worker or a manifest shows for the last seal, as hexadecimal.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        found = verify(kept_from=audit_kept_from(), newest=options["newest"])
        if found.breaks:
            lines = "\n".join(map(str, found.breaks[:100]))
            raise CommandError(
                f"The audit log was changed. Breaks of its chain: {len(found.breaks)}.\n{lines}"
            )
        if options["root"] and options["root"] != found.last_root:
            raise CommandError(f"The last root is {found.last_root}, not {options['root']}.")
        self.stdout.write(
            f"{found.seal_count} days with {found.record_count} records: intact. Last root: {found.last_root}"
        )
