"""`printf` with the verbs %s, %d and %v. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from registry.jobs.templates.errors import EvaluationError
from registry.jobs.templates.values import Members, Missing, Value, describe, write_value

_VERB = re.compile(r"%(.?)", re.DOTALL)


def format_values(layout: str, values: Sequence[Value]) -> str:
    """Return the text as Go's Sprintf writes it. Raises EvaluationError for what Go marks as `%!`."""
    verbs = [verb for verb in _VERB.findall(layout) if verb != "%"]
    if not {"s", "d", "v"}.issuperset(verbs):  # the layout can be a secret: not even a letter of it
        raise EvaluationError("printf supports only %s, %d, %v and %%.")
    if len(verbs) != len(values):
        raise EvaluationError(f"printf has {len(verbs)} verbs and {len(values)} values.")
    rest = iter(values)
    return _VERB.sub(lambda verb: "%" if verb[1] == "%" else _written(verb[1], next(rest)), layout)


def _written(verb: str, value: Value) -> str:
    if isinstance(value, Missing):
        return "<nil>" if verb == "v" else f"%!{verb}(<nil>)"
    is_number = isinstance(value, int) and not isinstance(value, bool)
    fits = {"s": not isinstance(value, int), "d": is_number, "v": True}[verb]
    if not fits or isinstance(value, Members):
        raise EvaluationError(f"printf cannot write {describe(value)} with %{verb}.")
    return write_value(value)
