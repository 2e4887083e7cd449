"""Variables of a plugin's configuration: `${config.executor_image}` in its image and entrypoint. Pure.

Values are inserted once and as they are: a value that contains `${config.` is an error, not a second pass.
Everything else that begins with `$` belongs to the shell.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping

Variable = str | int | bool
_MARK = "${config."
_VARIABLE = re.compile(r"\$\{config\.([A-Za-z_][A-Za-z0-9_]{0,62})\}")


class UnknownVariable(ValueError):
    """A template uses a variable that the plugin's configuration does not have."""


def find_variables(template: str) -> tuple[str, ...]:
    """Return the names of all variables in the order of their first use."""
    return tuple(dict.fromkeys(_VARIABLE.findall(template)))


def is_template(text: str) -> bool:
    """True if the text uses variables."""
    return _MARK in text


def find_template_problem(template: str) -> str:
    """Return what is wrong with the syntax of variables in a template, or an empty string."""
    if template.count(_MARK) == len(_VARIABLE.findall(template)):
        return ""
    return "A variable must have the form ${config.name}, with letters, digits and '_' in its name."


def substitute(template: str, config: Mapping[str, Variable]) -> str:
    """Return the template with the values of its variables. Raises UnknownVariable."""
    if problem := find_template_problem(template):
        raise UnknownVariable(problem)
    for name in find_variables(template):
        if name not in config:
            raise UnknownVariable(_describe_unknown(name, config))
        if is_template(_write(config[name])):
            raise UnknownVariable(f"The value of the variable {name!r} contains a variable itself.")
    return _VARIABLE.sub(lambda match: _write(config[match[1]]), template)


def _describe_unknown(name: str, config: Mapping[str, Variable]) -> str:
    names = sorted(config)
    close = difflib.get_close_matches(name, names, n=1)
    known = f"Known variables: {', '.join(names)}." if names else "The plugin has no variables."
    return f"Unknown variable {name!r}. {f'Did you mean {close[0]!r}? ' if close else ''}{known}"


def _write(value: Variable) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
