import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.core.management.commands import migrate
from django.db import connections
from django.db.migrations.recorder import MigrationRecorder

from controlplane.database.changes import ChangesRefused
from controlplane.upgrades.executor import PhasedExecutor, session_limits
from controlplane.upgrades.phases import Phase, Plan, refusal
from controlplane.upgrades.retries import LOCK_SECONDS, with_retries

_LOOK_SECONDS = 5.0


class Command(migrate.Command):
    help = (
        "Update the schema while processes run. Waits a second at most for a lock, and then tries again."
        " Migrations that drop something wait for the processes that still use it."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--phase",
            choices=[phase.value for phase in Phase],
            help="expand: only what the previous release can ignore, before its processes are replaced."
            " contract: the rest too, afterwards; refused while older processes run. Without it: the rest"
            " too, as far as no older process runs.",
        )
        parser.add_argument(
            "--wait",
            type=int,
            default=0,
            metavar="SECONDS",
            help="with --phase contract: how long to wait for older processes to end (default: %(default)s).",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        phase = Phase(options["phase"]) if options["phase"] else None
        if options["wait"] and phase is not Phase.CONTRACT:
            raise CommandError(
                "--wait is for --phase contract: nothing else waits for older processes."
                " Add --phase contract, or leave --wait out."
            )
        connection = connections[options["database"]]
        # Of what is no migration, such as rights on tables.
        with session_limits(connection, lock_timeout=int(LOCK_SECONDS * 1000)):
            plan = PhasedExecutor(connection, phase=phase).decide()
            if phase is Phase.CONTRACT:
                plan = self._wait_for_older_processes(plan, connection, options["wait"])
            with _as_executor(partial(PhasedExecutor, phase=phase)), _without_pause():
                with_retries(
                    lambda: super(Command, self).handle(*args, **options),
                    lambda: len(MigrationRecorder(connection).applied_migrations()),
                    lambda message: self.stdout.write(self.style.NOTICE(message)),
                )
        if plan.waits and options["verbosity"]:
            self.stdout.write(_waiting(plan))

    def _wait_for_older_processes(self, plan: Plan, connection: Any, seconds: int) -> Plan:
        """Return the plan once no process is in the way. Raises CommandError after the seconds."""
        until = time.monotonic() + seconds
        while plan.in_the_way:
            left = until - time.monotonic()
            if left <= 0:
                raise CommandError(refusal(plan.in_the_way))
            self.stdout.write(f"Older processes still run. Waiting for {left:.0f} s at most.")
            time.sleep(min(_LOOK_SECONDS, left))
            plan = PhasedExecutor(connection, phase=Phase.CONTRACT).decide()
        return plan


@contextmanager
def _as_executor(executor: Callable[..., PhasedExecutor]) -> Iterator[None]:
    """Have Django's command use our executor, for which it has no option."""
    names = vars(migrate)
    before = names["MigrationExecutor"]
    names["MigrationExecutor"] = executor
    try:
        yield
    finally:
        names["MigrationExecutor"] = before


@contextmanager
def _without_pause() -> Iterator[None]:
    try:
        yield
    except ChangesRefused as error:
        raise CommandError(
            f"Postgres accepts no changes ({error.reason or 'it is a standby'}), so the migration is not"
            " complete. After `manage.py read_only off`, run it again."
        ) from error


def _waiting(plan: Plan) -> str:
    names = ", ".join(".".join(key) for key in plan.waits)
    if plan.in_the_way:
        return f"Not applied: {names}. {refusal(plan.in_the_way)}"
    return f"Not applied in this phase: {names}. Run `manage.py migrate --phase contract` after the upgrade."
