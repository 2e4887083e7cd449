from typing import Any

from django.core.management.base import BaseCommand, CommandError

from overrides.file_source.synchronise import CURRENT, DATABASE, source_state, synchronise


class Command(BaseCommand):
    help = "Look at the folder of overrides now, and say what is wrong with it if anything is."

    def handle(self, *args: Any, **options: Any) -> None:
        state = synchronise()
        found = source_state()
        if state == DATABASE:
            raise CommandError("OVERRIDES_SOURCE is db here, so there is no folder to look at.")
        for error in found["errors"]:
            place = f"{error['file']}:{error['line']}:{error['column']}" if error["file"] else "folder"
            self.stderr.write(f"{place}: {error['message']}")
        if pending := found["pending"]:
            self.stderr.write(
                f"The files would remove {pending['removals']} of {pending['stored']} overrides. If that is "
                f"meant: POST /api/v1/overrides/source:confirm with the digest {pending['digest']}."
            )
        if state != CURRENT:
            raise CommandError(f"The files are not in force: {state}. The last good set stays.")
        self.stdout.write(f"The files are in force, as revision {found['revision']}.")
