from typing import Any

from django.core.management.base import BaseCommand, CommandError

from overrides.file_source.synchronise import release


class Command(BaseCommand):
    help = "Let overrides that came from files be changed through the API again, without loss."

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            count = release()
        except ValueError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(
            f"{count} overrides are kept as they stand. Now start every process with OVERRIDES_SOURCE=db.\n"
            "Until then the files stay the truth: a look at the folder takes them over again."
        )
