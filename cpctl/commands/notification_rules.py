"""The commands of `notify` for rules."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cpctl.commands import change_options, get, options
from cpctl.errors import NotFound
from cpctl.notification_kinds import READ_ONLY, RULE
from cpctl.output import Format, document, say
from cpctl.session import SESSION

Rule = Annotated[str, typer.Argument(metavar="RULE", help="Name or id of the rule.")]


def add_rule_commands(notify: typer.Typer) -> None:
    """Add the commands for rules to `notify`."""
    notify.command("rules")(list_rules)
    notify.command("rule")(show_rule)
    notify.command("create-rule")(create_rule)
    notify.command("set-rule")(set_rule)
    notify.command("delete-rule")(delete_rule)
    notify.command("preview")(preview)


def list_rules(
    *,
    output: options.Output = Format.TABLE,
    no_headers: options.NoHeaders = False,
    limit: options.Limit = None,
) -> None:
    """List rules. Built-in rules do nothing until they have a channel.

    \b
    cpctl notify rules -o wide
    """
    get.list_of(RULE, {}, output, headers=not no_headers, limit=limit)


def show_rule(rule: Rule, *, output: options.Output = Format.YAML) -> None:
    """Show a rule.

    \b
    cpctl notify rule agents
    """
    change_options.show_whole(RULE, _id(rule), output)


def create_rule(
    *,
    file: change_options.File,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Create a rule from a file.

    \b
    cpctl notify create-rule -f rule.yaml
    """
    body = change_options.object_in(file)
    change = options.ChangeOptions(message, dry_run, yes)
    change_options.create(RULE, body, change, output, question=f"Create the rule {body.get('name', '')}?")


def set_rule(
    rule: Rule,
    *,
    file: change_options.File,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Replace a rule by a file, as `rule` prints it.

    \b
    cpctl notify set-rule agents -f agents-rule.yaml
    """
    body = change_options.without_fields(change_options.object_in(file), READ_ONLY)
    change = options.ChangeOptions(message, dry_run, yes)
    change_options.put(RULE, _id(rule), body, change, output)


def delete_rule(
    rule: Rule,
    *,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Delete a rule with its alerts.

    \b
    cpctl notify delete-rule agents
    """
    change = options.ChangeOptions(message, dry_run, yes)
    change_options.delete(change_options.path_of(RULE, _id(rule)), rule, change)


def preview(*, file: change_options.File, output: options.Output = Format.YAML) -> None:
    """Show what a rule would have done in the last day.

    \b
    cpctl notify preview -f rule.yaml
    """
    body = change_options.without_fields(change_options.object_in(file), READ_ONLY)
    answer = SESSION.api().post(f"{RULE.path}:preview", body).json()
    say(*document(answer, output if output.is_whole else Format.YAML))


def _id(name: str) -> str:
    """Return the id of the rule with this name or id. Raises NotFound."""
    if get.is_id(name):
        return name
    found: list[Any] = [rule for rule in SESSION.api().items(RULE.path) if rule["name"] == name]
    if len(found) == 1:
        return str(found[0]["id"])
    if found:
        raise NotFound(f"Several teams have a rule {name!r}. Use its id.", hint="cpctl notify rules -o wide")
    raise NotFound(f"The rule {name!r} does not exist.", hint="cpctl notify rules")
