from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError

from controlplane.retention.logs import LOGS
from controlplane.retention.turning import turn


class Command(BaseCommand):
    help = (
        "Turn the event log and the audit log into monthly partitions, without stopping writers, and make"
        " missing partitions. DATABASE_URL must be of the role controlplane_migrator. Safe to run again."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        for log in LOGS:
            try:
                for step in turn(log):
                    self.stdout.write(f"{log.table}: {step.replace('_', ' ')}: done")
                    self.stdout.flush()
            except OperationalError as error:
                raise CommandError(
                    f"{log.table} is in use by a long transaction: {str(error).strip()}."
                    " Nothing is half done: run this command again."
                ) from error
