from typing import Any

from django.core.management.base import BaseCommand, CommandError

from controlplane.formats.counts import counted
from overrides.file_source.synchronise import release


class Command(BaseCommand):
    help = "Make overrides from files writable through the API again, without loss."

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            count = release()
        except ValueError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(
            f"{counted(count, 'override is', 'overrides are')} kept unchanged. "
            "Now start every process with OVERRIDES_SOURCE=db.\n"
            "Until then the files stay authoritative: the next check of the folder loads them again."
        )
