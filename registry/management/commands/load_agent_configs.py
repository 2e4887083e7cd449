from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from controlplane.identity.actors import system
from registry.agent_configs.publishing.recompute import recompute_all
from registry.agent_configs.sources.folder import confirm, folder_state, synchronise
from registry.agent_configs.sources.follow import AWAITING, CURRENT, OFF

_ACTOR = system("command")


class Command(BaseCommand):
    help = "Read the agent configurations folder now and recompute the data planes."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--confirm", metavar="DIGEST", help="Confirm the removal of missing documents.")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["confirm"]:
            confirm(options["confirm"], actor=_ACTOR)
        # Whoever runs this command has finished writing the files.
        state = synchronise(settled_seconds=0)
        if state == OFF:
            raise CommandError("AGENT_CONFIGS_PATH is not set. Set it to the folder of agent configurations.")
        recompute_all(_ACTOR)
        folder = folder_state()
        for problem in folder.problems:
            self.stderr.write(problem)
        if state == AWAITING and folder.pending:
            self.stderr.write(
                f"{len(folder.pending['documents'])} documents would be removed. To confirm: "
                f"manage.py load_agent_configs --confirm {folder.pending['digest']}"
            )
        if state != CURRENT:
            raise CommandError(
                f"The folder was not applied: {state}. The last applied documents stay active."
            )
        self.stdout.write("The folder is applied.")
