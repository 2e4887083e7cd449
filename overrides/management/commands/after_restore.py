from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from controlplane.errors import ControlplaneError
from controlplane.identity.actors import Actor
from overrides.after_restore import JUMP, empty_shared_cache, forget_what_was_lost

_ACTOR = "system:after-restore"


class Command(BaseCommand):
    help = (
        "After a restore from a backup, or a failover that lost changes: counters jump beyond what clients"
        " have seen, caches are emptied, and followers of lost events get 410 and a new start."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        for name, of in (("event", "`seq` of an event"), ("revision", "revision of overrides")):
            parser.add_argument(
                f"--last-known-{name}",
                type=int,
                default=0,
                help=f"The highest {of} that a client has seen. Without it, {JUMP:,} are assumed to be lost"
                " at most.",
            )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            restored = forget_what_was_lost(
                last_known_event=options["last_known_event"],
                last_known_revision=options["last_known_revision"],
                actor=Actor(None, _ACTOR),
            )
        except ControlplaneError as error:
            raise CommandError(error.detail) from error
        if not empty_shared_cache():
            self.stderr.write("Valkey cannot be reached, and was not emptied. It holds nothing for long.")
        self.stdout.write(
            f"Events end at {restored.last_event} and go on from {restored.first_event}. Followers of events"
            f" between them get 410. Revisions of overrides go on above {restored.revision}."
        )
