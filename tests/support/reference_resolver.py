"""A second resolver, from the decision records alone: slow, plain, and built the other way round.

The real one folds whole layers, from the bottom up. This one goes place by place, and asks at each place what
the layers say there, the most specific first. Scopes are tuples (domain, project, workflow, launch_plan).
A place is a tuple of names; an item of a keyed list is called [key=name], one of a unique list [its JSON].
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from itertools import takewhile
from typing import Any, NamedTuple

GONE = object()
SHAPES = ["", "d", "p", "dp", "dpw", "dpwl"]
FACTORS: dict[str, Any] = {"": 1, "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000)}
FACTORS |= {suffix: 1000**power for power, suffix in enumerate("kMGTPE", 1)}
FACTORS |= {f"{suffix}i": 1024**power for power, suffix in enumerate("KMGTPE", 1)}


class Layer(NamedTuple):
    scope: tuple[str, ...]
    document: dict[str, Any]
    is_default: bool = False


class Rail(NamedTuple):
    name: str
    scope: tuple[str, ...]
    path: tuple[str, ...]
    rule: dict[str, Any]  # lock_below (the number of a level), minimum, maximum, allowed


class Node(NamedTuple):
    """An object or list that consists of places of its own; a part that is None takes a place away."""

    kind: str
    parts: dict[str, Any]
    key: str = ""


Statements = list[tuple[int, Any]]


def level(scope: tuple[str, ...]) -> int:
    return SHAPES.index("".join(letter for letter, segment in zip("dpwl", scope, strict=True) if segment))


def covers(scope: tuple[str, ...], other: tuple[str, ...]) -> bool:
    return all(ours in ("", theirs) for ours, theirs in zip(scope, other, strict=True))


def canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def amount(value: Any) -> Fraction | None:
    """A number, or a quantity without a sign."""
    text = str(value)
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str) and (text[:1] not in "0123456789." or " " in text):
        return None
    digits = text.rstrip("numkKMGTPEi")
    try:
        return Fraction(Decimal(digits)) * FACTORS[text[len(digits) :]]
    except (ArithmeticError, KeyError, ValueError):
        return None


def meets(place: tuple, pattern: tuple) -> bool:
    """True where the one lies in the other."""
    return all(expected in ("*", name) for expected, name in zip(pattern, place, strict=False))


def at(place: tuple, pattern: tuple) -> bool:
    return len(place) == len(pattern) and meets(place, pattern)


def plain(node: Any) -> Any:
    """As JSON again."""
    if not isinstance(node, Node):
        return node
    if node.kind in ("object", "replace"):
        return {name: plain(part) for name, part in node.parts.items()}
    return [
        {node.key: name[len(node.key) + 2 : -1], "$remove": True}
        if node.key and item is None
        else plain(item)
        for name, item in node.parts.items()
    ]


def single(place: tuple, node: Any) -> Iterator[tuple[tuple, Any]]:
    """Every single value below a place, nulls too."""
    if isinstance(node, Node) and node.parts:
        for name, part in node.parts.items():
            yield from single((*place, name), part)
    else:
        yield place, plain(node)


def stated_at(node: Any, place: tuple) -> Any:
    if not place:
        return node
    return stated_at(node.parts.get(place[0], GONE), place[1:]) if isinstance(node, Node) else GONE


def inside(place: tuple, value: Any) -> Iterator[tuple[tuple, Any]]:
    """The value, and everything in it."""
    yield place, value
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in parts:
        yield from inside((*place, str(name)), part)


class Reference:
    """One answer. `strategy` and `rules` ({path: "min"}, {path: "merge_by_key:name"}) are the type's.

    leaves: by place, the value's layer and what other layers state there. removed: by place, who did it.
    refused: layer, place and name of the rail.
    """

    def __init__(self, layers: list[Layer], strategy: str, rules: dict, rails: list[Rail], target: tuple):
        self.strategy, self.rules = strategy, rules
        self.rails = [rail for rail in rails if covers(rail.scope, target)]
        self.layers = sorted(
            (layer for layer in layers if covers(layer.scope, target)),
            key=lambda layer: (not layer.is_default, level(layer.scope)),
        )
        self.refused: set[tuple[int, tuple, str]] = set()
        trees = [
            self.obedient(rank, (), self.tree((), layer.document)) for rank, layer in enumerate(self.layers)
        ]
        self.statements: Statements = [(rank, tree) for rank, tree in enumerate(trees) if tree is not GONE][
            ::-1
        ]
        value, sources = self.decide((), self.statements)
        self.attributes = {} if value is GONE else value
        self.leaves = {place: (rank, self.shadowed(place, rank)) for place, rank in sources.items()}
        self.removed = self.taken_away()

    # Documents as trees

    def rule(self, place: tuple) -> str:
        if self.strategy == "replace":
            return "" if place else "replace"
        return next((rule for pattern, rule in self.rules.items() if at(place, pattern)), "")

    def tree(self, place: tuple, value: Any) -> Any:
        rule, _, key = self.rule(place).partition(":")
        if isinstance(value, dict):
            if value.get("$remove"):
                return None
            parts = {name: self.tree((*place, name), part) for name, part in value.items()}
            return Node("replace" if rule == "replace" else "object", parts)
        if isinstance(value, list) and rule == "merge_by_key":
            named = {f"[{key}={item[key]}]": item for item in value}
            return Node(rule, {name: self.tree((*place, name), item) for name, item in named.items()}, key)
        if isinstance(value, list) and rule == "append_unique":
            return Node(rule, {f"[{canonical(item)}]": item for item in value})
        return value

    # Rails: what is left of one layer's statement

    def obedient(self, rank: int, place: tuple, node: Any, key: str = "") -> Any:
        """`key` is the member that names an item, where the node is one."""
        if not isinstance(node, Node) or node.kind == "replace" or not node.parts:
            return self.obedient_whole(rank, place, node)
        parts = {
            name: self.obedient(rank, (*place, name), part, node.key) for name, part in node.parts.items()
        }
        remaining = {name: part for name, part in parts.items() if part is not GONE}
        nameless = key and key not in remaining
        only_named = key and len(node.parts) > len(remaining) == 1
        return GONE if not remaining or nameless or only_named else node._replace(parts=remaining)

    def obedient_whole(self, rank: int, place: tuple, node: Any) -> Any:
        is_kept = True
        for below, value in single(place, node):
            broken = [rail.name for rail in self.rails if self.breaks(rank, rail, place, node, below, value)]
            if broken:
                self.refused.add((rank, below, min(broken)))
                is_kept = False
        return node if is_kept else GONE

    def breaks(self, rank: int, rail: Rail, place: tuple, node: Any, below: tuple, value: Any) -> bool:
        layer = self.layers[rank]
        is_merging = isinstance(node, Node) and node.kind != "replace"
        is_locked = not layer.is_default and level(layer.scope) > rail.rule.get("lock_below", 9)
        # An empty object above the field leaves the field alone; in its place it sets it.
        if is_locked and meets(place, rail.path) and not (is_merging and len(place) < len(rail.path)):
            return True
        return any(self.is_out(rail, *path) for path in inside(below, value))

    def is_out(self, rail: Rail, place: tuple, value: Any) -> bool:
        """True if this very value is out of the rail's bounds."""
        is_item = bool(place) and place[-1].startswith("[") and at(place[:-1], rail.path)
        if value is None or not (at(place, rail.path) or is_item):
            return False
        if "allowed" in rail.rule:
            items = value if isinstance(value, list) else [value]
            if any(canonical(item) not in map(canonical, rail.rule["allowed"]) for item in items):
                return True
        size, least, most = map(amount, (value, rail.rule.get("minimum"), rail.rule.get("maximum")))
        if size is None:
            return not (least is None and most is None)
        return (least is not None and size < least) or (most is not None and size > most)

    # Deciding: the value of a place, and the layer of each leaf in it

    def decide(self, place: tuple, statements: Statements) -> tuple[Any, dict[tuple, int]]:
        live = list(takewhile(lambda statement: statement[1] is not None, statements))
        if not live:
            return GONE, {}
        rank, top = live[0]
        if self.rule(place) in ("min", "max"):
            rank, value = self.extreme(live, self.rule(place))
            return plain(value), {place: rank}
        if not isinstance(top, Node):
            return top, {place: rank}
        run = list(
            takewhile(
                lambda statement: isinstance(statement[1], Node) and statement[1].kind == top.kind, live
            )
        )
        return self.merged(place, run[:1] if top.kind == "replace" else run)

    def extreme(self, live: Statements, rule: str) -> tuple[int, Any]:
        amounts = [number for _, value in live if (number := amount(value)) is not None]
        if not amounts:
            return live[0]
        best = min(amounts) if rule == "min" else max(amounts)
        inherited = [value for _, value in live if amount(value) == best][-1]
        return next(statement for statement in live if canonical(statement[1]) == canonical(inherited))

    def merged(self, place: tuple, run: Statements) -> tuple[Any, dict[tuple, int]]:
        names = dict.fromkeys(name for _, node in run for name in node.parts)
        heard = {
            name: [(rank, node.parts[name]) for rank, node in run if name in node.parts] for name in names
        }
        decided = {name: self.decide((*place, name), heard[name]) for name in names}
        there = [name for name in names if decided[name][0] is not GONE]
        nodes = dict(run)

        def age(name: str) -> tuple[int, int]:
            """Who brought it after the last removal, and where it stood there."""
            born = list(takewhile(lambda statement: statement[1] is not None, heard[name]))[-1][0]
            return born, list(nodes[born].parts).index(name)

        value = plain(run[0][1]._replace(parts={name: decided[name][0] for name in sorted(there, key=age)}))
        leaves = {leaf: rank for name in there for leaf, rank in decided[name][1].items()}
        return value, leaves if there else {place: self.emptied_by(place, run)}

    def emptied_by(self, place: tuple, run: Statements) -> int:
        """The layer that says it is empty, or that took the last part away."""
        (rank, node), *below = run
        had = below and self.decide(place, below)[0]
        return rank if not node.parts or had or not below else self.emptied_by(place, below)

    def taken_away(self) -> dict[tuple, int]:
        """What a null took away and is still missing, with the most specific layer that says so."""
        removed: dict[tuple, int] = {}
        inherited: dict[tuple, int] = {}
        for index in reversed(range(len(self.statements))):
            rank, node = self.statements[index]
            for place, value in single((), node):
                # What is taken whole inherits nothing that a null could take away.
                is_whole = any(self.rule(place[:length]) == "replace" for length in range(len(place)))
                if value is None and not is_whole and (place in removed or is_there(place, inherited)):
                    removed[place] = rank
            inherited = self.decide((), self.statements[index:])[1]
            # Stated anew, it is removed no longer, whatever takes it away after that.
            removed = {place: by for place, by in removed.items() if not is_there(place, inherited)}
        return removed

    def shadowed(self, place: tuple, rank: int) -> list[tuple[int, Any]]:
        """What others state at a leaf's place, the nearest first."""
        is_extreme = self.rule(place) in ("min", "max")
        stated = [(other, stated_at(node, place)) for other, node in self.statements]
        return [
            (other, plain(node))
            for other, node in stated
            if node is not GONE and (other < rank or (is_extreme and other != rank))
        ]

    def place_of(self, pointer: str, document: Any = None) -> tuple[str, ...]:
        """The name of the place that a JSON Pointer shows in the document: no index, but key or value."""
        place: tuple[str, ...] = ()
        for step in (step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]):
            name = step
            if isinstance(document, list) and step.isdigit():
                document = document[int(step)]
                key = self.rule(place).partition(":")[2]
                name = f"[{key}={document[key]}]" if key else f"[{canonical(document)}]"
            else:
                document = document.get(step) if isinstance(document, dict) else None
            place = (*place, name)
        return place


def is_there(place: tuple, leaves: dict[tuple, int]) -> bool:
    return any(leaf[: len(place)] == place for leaf in leaves)
