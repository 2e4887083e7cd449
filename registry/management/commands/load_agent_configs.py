from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from controlplane.formats.counts import counted
from controlplane.identity.actors import system
from registry.agent_configs.publishing.recompute import recompute_all
from registry.agent_configs.sources.folder import confirm_folder_removal, get_folder_row, synchronise
from registry.agent_configs.sources.follow import AWAITING, CURRENT, OFF

_ACTOR = system("command")


class Command(BaseCommand):
    help = "Read the folder of agent configurations now and recompute data planes."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--confirm", metavar="DIGEST", help="Confirm the removal of missing documents.")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["confirm"]:
            confirm_folder_removal(options["confirm"], actor=_ACTOR)
        # The files are complete when an operator runs the command.
        state = synchronise(settled_seconds=0)
        if state == OFF:
            raise CommandError("AGENT_CONFIGS_PATH is empty. Set it to the folder of agent configurations.")
        recompute_all(_ACTOR)
        row = get_folder_row()
        for problem in row.problems:
            self.stderr.write(problem)
        if state == AWAITING and row.pending:
            self.stderr.write(
                f"{counted(len(row.pending['documents']), 'document')} would be removed. To confirm, run "
                f"manage.py load_agent_configs --confirm {row.pending['digest']}"
            )
        if state != CURRENT:
            raise CommandError(f"The folder was not loaded: {state}. Its documents stay.")
        self.stdout.write("The folder was loaded.")
