"""Ladders: where each value is set, from the platform default down to a scope. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cpctl.output import GAP, Item, Paint, as_text
from cpctl.scopes import LADDER, rung_scope, scope_text


@dataclass(frozen=True, slots=True)
class Rung:
    """One scope of the ladder. fate: applies, shadowed, removes it, refused, or empty if it is not set."""

    place: str
    value: str
    fate: str
    detail: str = ""


def rungs(scope: Mapping[str, str], stated: Mapping[str, Rung], *, silent: bool) -> list[Rung]:
    """Return the rungs that cover the scope, least specific first. silent: also those without a value."""
    places = ["platform default"] if "platform default" in stated else []
    for level in LADDER:
        if (reached := rung_scope(level, scope)) is not None:
            places.append(scope_text(reached))
    return [stated.get(place) or Rung(place, "-", "") for place in places if silent or place in stated]


def stated_by_pointer(effective: Item) -> dict[str, dict[str, Rung]]:
    """Return the rungs of each leaf of one resource type, by pointer."""
    ladders: dict[str, dict[str, Rung]] = {}
    for pointer, rung in _stated(effective):
        # A value that a guard rail refuses also appears elsewhere; the refusal is more informative.
        ladders.setdefault(pointer, {}).setdefault(rung.place, rung)
    return ladders


def _stated(effective: Item) -> Iterator[tuple[str, Rung]]:
    for value in effective["refused"]:
        yield value["pointer"], _rung(value["source"], value["value"], "refused", value["why_not"])
    for leaf in effective["leaves"]:
        yield leaf["pointer"], _rung(leaf["source"], leaf["value"], "applies", _who(leaf["source"]))
    for value in effective["removed"]:
        yield value["pointer"], _rung(value["source"], None, "removes it", _who(value["source"]))
    for leaf in [*effective["leaves"], *effective["removed"]]:
        for lost in leaf["shadowed"]:
            detail = f"{lost['because'].replace('_', ' ')}; {_who(lost['source'])}"
            yield leaf["pointer"], _rung(lost["source"], lost["value"], "shadowed", detail)


def _rung(source: Item, value: Any, fate: str, detail: str) -> Rung:
    default = source["kind"] != "override"
    return Rung("platform default" if default else scope_text(source["scope"]), as_text(value), fate, detail)


def _who(source: Item) -> str:
    if source["kind"] != "override":
        return source["declared_in"] or ""
    text = f"v{source['version']} by {source['changed_by']} {str(source['changed_at'])[:10]}"
    return f"{text} “{source['change_message']}”" if source["change_message"] else text


_MARKS = {
    "applies": ("→", "green"),
    "shadowed": (" ", "strike"),
    "refused": ("!", "red"),
    "removes it": ("x", "red"),
}


def ladder_lines(title: str, ladder: Sequence[Rung], paint: Paint) -> list[str]:
    places = max(len(rung.place) for rung in ladder)
    values = max(len(rung.value) for rung in ladder)
    lines = [paint("bold", title)]
    for rung in ladder:
        mark, style = _MARKS.get(rung.fate, (" ", "dim"))
        value = paint(style, rung.value) + " " * (values - len(rung.value))
        line = GAP.join((f"  {mark} {rung.place.ljust(places)}", value, f"{rung.fate} {rung.detail}".strip()))
        lines.append(line.rstrip())
    return lines


def pointer_of(words: str) -> tuple[str, str]:
    """Return type and pointer of `taskResources.limits.cpu` or `task_resource/limits/cpu`."""
    name, _, rest = words.replace("/", ".").partition(".")
    return name, "/" + rest.replace(".", "/") if rest else ""
