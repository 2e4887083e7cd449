"""What is wrong with variables of a template: `x-variables` lists those that a pattern allows. Pure."""

from __future__ import annotations

import difflib
import re
from typing import Any

VARIABLES = "x-variables"
_VARIABLE = re.compile(r"\{\{([^{}\n]{0,200})\}\}")
_HELM_ESCAPE = re.compile(r"""\{\{ {0,8}["'`]\{\{""")


def template_problem(variables: Any, text: Any) -> str:
    """Return the first problem of a template, or nothing. Names with `.` at the end are prefixes."""
    if not isinstance(variables, list) or not isinstance(text, str):
        return ""
    if _HELM_ESCAPE.search(text):
        return "It has an escape of Helm, which Flyte would not fill in: write {{ .name }}."
    names = [name for name in variables if isinstance(name, str)]
    for match in _VARIABLE.finditer(text):
        if problem := _problem(match[1], names):
            return problem
    return ""


def _problem(inner: str, names: list[str]) -> str:
    name = inner.strip()
    if not name.startswith("."):
        return (
            f"Write {{{{ .{name[:80]} }}}}, with a dot."
            if name in names
            else f"{name[:80]!r} is no variable."
        )
    if _is_known(name[1:], names):
        return (
            ""
            if inner in (name, f" {name} ")
            else f"Write {{{{ {name[:80]} }}}}, with one space at each side."
        )
    nearest = difflib.get_close_matches(name[1:81], names, n=1, cutoff=0.5)
    advice = f"Did you mean {_example(nearest[0])!r}?" if nearest else f"Use one of {', '.join(names)[:150]}."
    return f"Unknown variable {name[1:81]!r}. {advice}"


def _is_known(name: str, names: list[str]) -> bool:
    return any(
        name.startswith(each) and name != each if each.endswith(".") else name == each for each in names
    )


def _example(name: str) -> str:
    return f"{name}name" if name.endswith(".") else name
