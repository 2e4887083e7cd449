from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import ProgrammingError
from psycopg.errors import InsufficientPrivilege

from controlplane.errors import ControlplaneError
from controlplane.identity.actors import Actor
from controlplane.installation.pauses import current_pause, pause, resume, wait_for_writers
from controlplane.upgrades.retries import with_retries

_ACTOR = "system:read-only"


class Command(BaseCommand):
    help = (
        "Pause all changes for maintenance: reads go on, and changes are answered 503 `read_only` with the"
        " reason. No agent becomes unavailable because of it."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("switch", choices=["on", "off", "status"])
        parser.add_argument("--reason", default="", help="What everybody reads whose change is refused.")
        parser.add_argument(
            "--wait-seconds",
            type=float,
            default=30.0,
            help="For changes that began before the pause. The default is %(default)s.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            self._handle(options)
        except ControlplaneError as error:
            raise CommandError(error.detail) from error
        except ProgrammingError as error:
            if not isinstance(error.__cause__, InsufficientPrivilege):
                raise
            raise CommandError(
                "The role of DATABASE_URL may not pause changes. Use the URL of controlplane_migrator."
            ) from error

    def _handle(self, options: Any) -> None:
        match options["switch"]:
            case "on":
                self._pause(options["reason"], options["wait_seconds"])
            case "off":
                self._resume(options["reason"])
            case _:
                self._show()

    def _pause(self, reason: str, wait_seconds: float) -> None:
        with_retries(
            lambda: pause(reason, actor=Actor(None, _ACTOR, reason=reason)), lambda: 0, self.stdout.write
        )
        if left := wait_for_writers(wait_seconds):
            raise CommandError(
                f"Changes are paused, but {len(left)} that began before have not ended (processes of"
                f" Postgres: {', '.join(map(str, left))}). Look at pg_stat_activity, then run this again."
            )
        self.stdout.write("Changes are paused, and none is under way. End it with: manage.py read_only off")

    def _resume(self, reason: str) -> None:
        length = resume(actor=Actor(None, _ACTOR, reason=reason))
        if length is None:
            self.stdout.write("Changes were not paused.")
        else:
            self.stdout.write(f"Changes are accepted again, after {length.total_seconds():.0f} s.")

    def _show(self) -> None:
        row = current_pause()
        if row is None:
            self.stdout.write("Changes are accepted.")
        else:
            self.stdout.write(f"Paused since {row.since:%Y-%m-%d %H:%M:%S} UTC by {row.set_by}: {row.reason}")
