from typing import Any

from django.core.management.base import BaseCommand, CommandError

from overrides.file_source.synchronise import CURRENT, DATABASE, source_state, synchronise


class Command(BaseCommand):
    help = "Load the folder of overrides now, and print its errors."

    def handle(self, *args: Any, **options: Any) -> None:
        state = synchronise()
        status = source_state()
        if state == DATABASE:
            raise CommandError("OVERRIDES_SOURCE is db, so there is no folder to load.")
        for error in status["errors"]:
            place = f"{error['file']}:{error['line']}:{error['column']}" if error["file"] else "folder"
            self.stderr.write(f"{place}: {error['message']}")
        if pending := status["pending"]:
            self.stderr.write(
                f"The files would remove {pending['removals']} of {pending['stored']} overrides. To confirm, "
                f"send the digest {pending['digest']} to POST /api/v1/overrides/source:confirm."
            )
        if state != CURRENT:
            raise CommandError(f"The files are not in effect: {state}. The last valid set stays in effect.")
        self.stdout.write(f"The files are in effect as revision {status['revision']}.")
