"""The commands `notify`: alerts, and the channels through which people learn of them."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cpctl.columns import Kind
from cpctl.commands import change_options, get, options
from cpctl.commands.notification_rules import add_rule_commands
from cpctl.errors import NotFound
from cpctl.notification_kinds import ALERT, CHANNEL, READ_ONLY
from cpctl.output import Format, document, say
from cpctl.session import SESSION

notify = typer.Typer(help="List and acknowledge alerts, manage rules and channels.", no_args_is_help=True)
Channel = Annotated[str, typer.Argument(metavar="CHANNEL", help="Name or id of the channel.")]
add_rule_commands(notify)


@notify.command("alerts")
def list_alerts(
    *,
    state: Annotated[str, typer.Option(help="Filter by state, such as firing.")] = "",
    severity: Annotated[str, typer.Option(help="Filter by severity: info, warning, critical.")] = "",
    output: options.Output = Format.TABLE,
    no_headers: options.NoHeaders = False,
    limit: options.Limit = None,
) -> None:
    """List alerts, newest first.

    \b
    cpctl notify alerts --state firing
    """
    filters = {"state": state, "severity": severity}
    get.list_of(ALERT, filters, output, headers=not no_headers, limit=limit)


@notify.command("alert")
def show_alert(alert: change_options.Id, *, output: options.Output = Format.YAML) -> None:
    """Show an alert with its text.

    \b
    cpctl notify alert 019a9f5e-7c00-7000-8000-000000000031
    """
    change_options.show_whole(ALERT, alert, output)


@notify.command("acknowledge")
def acknowledge(
    alert: change_options.Id,
    *,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Stop the escalation of an alert, because you look after it.

    \b
    cpctl notify acknowledge 019a9f5e-7c00-7000-8000-000000000031
    """
    change = options.ChangeOptions(message, dry_run, yes)
    change.ask(f"Acknowledge {alert}?")
    path = f"{change_options.path_of(ALERT, alert)}:acknowledge"
    get.show(ALERT, [SESSION.api().post(path, query=change.query()).json()], output)


@notify.command("channels")
def list_channels(
    *,
    kind: Annotated[str, typer.Option(help="Filter by kind: email, slack, pagerduty, webhook, other.")] = "",
    output: options.Output = Format.TABLE,
    no_headers: options.NoHeaders = False,
    limit: options.Limit = None,
) -> None:
    """List channels with their health.

    \b
    cpctl notify channels --kind email
    """
    get.list_of(CHANNEL, {"kind": kind}, output, headers=not no_headers, limit=limit)


@notify.command("channel")
def show_channel(channel: Channel, *, output: options.Output = Format.YAML) -> None:
    """Show a channel, without its credentials.

    \b
    cpctl notify channel on-call
    """
    change_options.show_whole(CHANNEL, id_of(CHANNEL, channel), output)


@notify.command("create-channel")
def create_channel(
    *,
    file: change_options.File,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.YAML,
) -> None:
    """Create a channel from a file, and show it. The secret of a webhook is shown once.

    \b
    cpctl notify create-channel -f channel.yaml
    """
    change = options.ChangeOptions(message, dry_run, yes)
    body = change_options.object_in(file)
    change.ask(f"Create the channel {body.get('name', '')}?")
    made = SESSION.api().post(CHANNEL.path, body, query=change.query()).json()
    say(*document(made, output if output.is_whole else Format.YAML))


@notify.command("set-channel")
def set_channel(
    channel: Channel,
    *,
    file: change_options.File,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Replace a channel by a file, as `channel` prints it. Credentials stay if the file has none.

    \b
    cpctl notify set-channel on-call -f on-call.yaml
    """
    body = change_options.without_fields(change_options.object_in(file), READ_ONLY)
    change = options.ChangeOptions(message, dry_run, yes)
    change_options.put(CHANNEL, id_of(CHANNEL, channel), body, change, output)


@notify.command("delete-channel")
def delete_channel(
    channel: Channel,
    *,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Delete a channel that no rule sends to.

    \b
    cpctl notify delete-channel on-call
    """
    change = options.ChangeOptions(message, dry_run, yes)
    change_options.delete(change_options.path_of(CHANNEL, id_of(CHANNEL, channel)), channel, change)


@notify.command("resume-channel")
def resume_channel(
    channel: Channel,
    *,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Send through a channel again that was switched off because it failed.

    \b
    cpctl notify resume-channel on-call
    """
    change = options.ChangeOptions(message, dry_run, yes)
    change.ask(f"Resume {channel}?")
    answer = SESSION.api().post(f"{_path(channel)}:resume", query=change.query()).json()
    get.show(CHANNEL, [answer], output)


@notify.command("rotate-secret")
def rotate_secret(
    channel: Channel,
    *,
    overlap_hours: Annotated[int, typer.Option(min=0, help="For so long, old secrets sign too.")] = 24,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Sign messages of a webhook with a new secret, and print it. It is shown once.

    \b
    cpctl notify rotate-secret on-call --overlap-hours 2
    """
    change = options.ChangeOptions(message, dry_run, yes)
    change.ask(f"Sign with a new secret for {channel}?")
    body = {"overlap_hours": overlap_hours}
    made = SESSION.api().post(f"{_path(channel)}:rotate-secret", body, query=change.query()).json()
    if not dry_run:
        say(made["secret"])


@notify.command("test")
def send_test(channel: Channel, *, output: options.Output = Format.YAML) -> None:
    """Send a test message now, and show what each receiver answered.

    \b
    cpctl notify test on-call
    """
    answer = SESSION.api().post(f"{_path(channel)}:test").json()
    say(*document(answer, output if output.is_whole else Format.YAML))
    if any(result["result"] != "delivered" for result in answer["results"]):
        raise typer.Exit(1)


@notify.command("send")
def send_message(
    channel: Channel,
    *,
    subject: Annotated[str, typer.Option(help="One line.")],
    text: Annotated[str, typer.Option(help="The message.")] = "",
    severity: Annotated[str, typer.Option(help="info, warning or critical.")] = "",
    key: Annotated[str, typer.Option(help="Messages with one key are one conversation.")] = "",
    resolved: Annotated[bool, typer.Option("--resolved", help="End the conversation of the key.")] = False,
) -> None:
    """Send a message through a channel, as from a pipeline.

    \b
    cpctl notify send on-call --subject "Training is done" --key training
    """
    body = change_options.non_empty(subject=subject, text=text, severity=severity, key=key)
    state = {"state": "resolved"} if resolved else {}
    answer = SESSION.api().post("notifications:send", {**body, **state, "channel": id_of(CHANNEL, channel)})
    say(answer.json()["key"])


def id_of(kind: Kind, name: str) -> str:
    """Return the id of the object with this name or id. Raises NotFound."""
    if get.is_id(name):
        return name
    found: list[Any] = [item for item in SESSION.api().items(kind.path) if item["name"] == name]
    if len(found) == 1:
        return str(found[0]["id"])
    hint = f"cpctl get {kind.name} -o wide"
    if found:
        raise NotFound(f"Several teams have {name!r}. Use its id.", hint=hint)
    raise NotFound(f"{name!r} does not exist.", hint=hint)


def _path(channel: str) -> str:
    return change_options.path_of(CHANNEL, id_of(CHANNEL, channel))
