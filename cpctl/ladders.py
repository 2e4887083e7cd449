"""The ladder of one value: every rung from the platform's default down to the scope asked about. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cpctl.output import GAP, Item, Paint, as_text
from cpctl.scopes import LADDER, rung_scope, scope_text


@dataclass(frozen=True, slots=True)
class Rung:
    """fate: applies, shadowed, removed, refused, or nothing where it is not set."""

    place: str
    value: str
    fate: str
    detail: str = ""


def rungs(scope: Mapping[str, str], stated: Mapping[str, Rung], *, silent: bool) -> list[Rung]:
    """The rungs that reach this scope, least specific first. silent: those that say nothing too."""
    places = ["platform default"] if "platform default" in stated else []
    for level in LADDER:
        if (reached := rung_scope(level, scope)) is not None:
            places.append(scope_text(reached))
    return [stated.get(place) or Rung(place, "-", "") for place in places if silent or place in stated]


def stated_by_pointer(effective: Item) -> dict[str, dict[str, Rung]]:
    """What each rung says about each leaf of one type."""
    found: dict[str, dict[str, Rung]] = {}
    for pointer, rung in _stated(effective):
        # A value that a rail refuses is said once more as its own kind; the refusal tells more.
        found.setdefault(pointer, {}).setdefault(rung.place, rung)
    return found


def _stated(effective: Item) -> Iterator[tuple[str, Rung]]:
    for one in effective["refused"]:
        yield one["pointer"], _rung(one["source"], one["value"], "refused", one["why_not"])
    for leaf in effective["leaves"]:
        yield leaf["pointer"], _rung(leaf["source"], leaf["value"], "applies", _who(leaf["source"]))
    for one in effective["removed"]:
        yield one["pointer"], _rung(one["source"], None, "removes it", _who(one["source"]))
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
    said = f"v{source['version']} by {source['changed_by']} {str(source['changed_at'])[:10]}"
    return f"{said} “{source['change_message']}”" if source["change_message"] else said


_MARKS = {
    "applies": ("→", "green"),
    "shadowed": (" ", "strike"),
    "refused": ("!", "red"),
    "removes it": ("x", "red"),
}


def ladder_lines(title: str, ladder: Sequence[Rung], paint: Paint) -> list[str]:
    places = max(len(rung.place) for rung in ladder)
    values = max(len(rung.value) for rung in ladder)
    told = [paint("bold", title)]
    for rung in ladder:
        mark, style = _MARKS.get(rung.fate, (" ", "dim"))
        value = paint(style, rung.value) + " " * (values - len(rung.value))
        line = GAP.join((f"  {mark} {rung.place.ljust(places)}", value, f"{rung.fate} {rung.detail}".strip()))
        told.append(line.rstrip())
    return told


def pointer_of(words: str) -> tuple[str, str]:
    """`taskResources.limits.cpu` or `task_resource/limits/cpu` as (type, pointer)."""
    name, _, rest = words.replace("/", ".").partition(".")
    return name, "/" + rest.replace(".", "/") if rest else ""
