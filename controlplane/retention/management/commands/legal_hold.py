from datetime import datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from controlplane.database.clock import statement_now
from controlplane.errors import ControlplaneError
from controlplane.identity.actors import system
from controlplane.retention.holds import active_holds, place_hold, release_hold
from controlplane.scopes import SEGMENTS, Scope


class Command(BaseCommand):
    help = "Place, release or list legal holds. Partitions with rows in the scope of a hold are not dropped."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        place = actions.add_parser("place", help="Place a hold on a scope; without one, on all rows.")
        for segment in SEGMENTS:
            place.add_argument(f"--{segment.replace('_', '-')}", default="")
        place.add_argument("--until", type=datetime.fromisoformat, help="Without it, until it is released.")
        place.add_argument("--reason", required=True)
        release = actions.add_parser("release", help="Release a hold.")
        release.add_argument("id", type=int)
        actions.add_parser("list", help="List active holds.")

    def handle(self, *args: Any, **options: Any) -> None:
        now, actor = statement_now(), system("legal_hold")
        try:
            if options["action"] == "place":
                scope = Scope(**{segment: options[segment] for segment in SEGMENTS})
                until = options["until"]
                until = until.astimezone() if until and until.tzinfo is None else until
                hold = place_hold(scope, until=until, reason=options["reason"], actor=actor)
                self.stdout.write(f"Legal hold {hold.pk} placed.")
            elif options["action"] == "release":
                release_hold(options["id"], now=now, actor=actor)
                self.stdout.write(f"Legal hold {options['id']} released.")
        except ControlplaneError as error:
            raise CommandError(error.detail) from error
        if options["action"] == "list":
            for hold in active_holds(now):
                scope = Scope(hold.domain, hold.project, hold.workflow, hold.launch_plan)
                self.stdout.write(f"{hold.pk}  {scope}  until {hold.until or 'released'}  {hold.reason}")
