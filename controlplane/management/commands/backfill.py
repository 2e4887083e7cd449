from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from controlplane.formats.counts import counted
from controlplane.upgrades.backfills import MOST_ROWS, Backfill, OtherRunner, registered, run
from controlplane.upgrades.models import BackfillProgress


class Command(BaseCommand):
    help = (
        "Fill what migrations left for later, in small ranges while everything runs. It can be stopped at any"
        " moment, and goes on where it was."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "name", nargs="?", help="Of one backfill. The default is all that have not ended."
        )
        parser.add_argument("--list", action="store_true", help="Only show them, and how far they are.")
        parser.add_argument("--rows", type=int, default=MOST_ROWS, help="Of a range. Default: %(default)s.")

    def handle(self, *args: Any, **options: Any) -> None:
        backfills = [each for each in registered() if options["name"] in (None, each.name)]
        if options["name"] and not backfills:
            known = ", ".join(each.name for each in registered()) or "none"
            raise CommandError(f"There is no backfill {options['name'][:63]!r}. Known: {known}.")
        if not 1 <= options["rows"] <= MOST_ROWS:
            raise CommandError(f"--rows must be from 1 to {MOST_ROWS}: more would hold locks for too long.")
        for backfill in backfills:
            if options["list"]:
                self._show(backfill)
            else:
                self._run(backfill, options["rows"])

    def _run(self, backfill: Backfill, rows: int) -> None:
        try:
            changed = run(backfill, rows=rows, say=self.stdout.write)
        except OtherRunner as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{backfill.name} has ended: {counted(changed, 'row')} changed.")

    def _show(self, backfill: Backfill) -> None:
        row = BackfillProgress.objects.filter(name=backfill.name).first()
        if row is None:
            state = "not begun"
        else:
            state = f"{'ended' if row.ended_at else 'under way'}, {counted(row.changed_rows, 'row')} changed"
        self.stdout.write(f"{backfill.name}: {state}")
