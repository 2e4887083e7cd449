"""What expressions are made of: a filter is given a value and finds any number of values in it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

Filter = Callable[[Any], Iterator[Any]]
_KINDS = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}


class BadValue(Exception):
    """An expression asks a value for what it does not have."""

    def __init__(self, value: Any, why: str) -> None:
        hint = "; .[] goes through it" if isinstance(value, list) else ""
        super().__init__(f"{_KINDS.get(type(value), 'a number')} {why}{hint}.")


def truth(value: Any) -> bool:
    """As jq has it: only false and null are not true."""
    return value is not None and value is not False


def iterate(value: Any) -> Iterator[Any]:
    if not isinstance(value, dict | list):
        raise BadValue(value, "cannot be gone through")
    yield from value.values() if isinstance(value, dict) else value


def itself(value: Any) -> Iterator[Any]:
    yield value


def always(said: Any) -> Filter:
    return lambda value: iter([said])


def after(first: Filter, second: Filter) -> Filter:
    return lambda value: chain.from_iterable(map(second, first(value)))


def tried(found: Filter) -> Filter:
    """What is found up to a mistake."""

    def ask(value: Any) -> Iterator[Any]:
        try:
            yield from found(value)
        except BadValue:
            return

    return ask


def instead(found: Filter, other: Filter) -> Filter:
    """What is found and true, else the other."""

    def ask(value: Any) -> Iterator[Any]:
        true = [one for one in tried(found)(value) if truth(one)]
        yield from true or other(value)

    return ask


def logic(left: Filter, right: Filter, judge: Callable[[Iterator[bool]], bool]) -> Filter:
    return lambda value: iter([judge(truth(one) for side in (left, right) for one in side(value))])


def member(key: Any) -> Filter:
    """A member by its name or number; null has every member, and it is null."""

    def ask(value: Any) -> Iterator[Any]:
        if value is None or (isinstance(value, dict) and isinstance(key, str)):
            yield None if value is None else value.get(key)
        elif isinstance(value, list) and isinstance(key, int):
            yield value[key] if -len(value) <= key < len(value) else None
        elif isinstance(value, list | str) and isinstance(key, slice):
            yield value[key]
        else:
            raise BadValue(value, f"has no member {key!r}")

    return ask


def own_member(name: str) -> Filter:
    return lambda value: iter([value[name]] if isinstance(value, dict) and name in value else [])


def everything(value: Any) -> Iterator[Any]:
    yield value
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for one in inside:
        yield from everything(one)
