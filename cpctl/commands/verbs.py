"""The commands `create` and `delete`."""

from __future__ import annotations

import typer

from cpctl.verbs import CreateGroup, DeleteGroup

create = typer.Typer(
    cls=CreateGroup,
    no_args_is_help=True,
    help=(
        "Create an object of any kind.\n\n"
        "\b\n"
        'cpctl create project vision --description "Cameras" --yes\n'
        "cpctl create guard-rail cpu-cap -f cpu-cap.yaml --yes"
    ),
)
delete = typer.Typer(
    cls=DeleteGroup,
    no_args_is_help=True,
    help=(
        "Delete an object of any kind. What cannot be deleted is ended or revoked.\n\n"
        "\b\n"
        "cpctl delete override task_resource -p billing -d production --dry-run\n"
        "cpctl delete guard-rail cpu-cap --dry-run"
    ),
)
create.callback()(lambda: None)
delete.callback()(lambda: None)
