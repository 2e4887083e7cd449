"""Keys that a list sorts by, and the order of several of them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SortKeys:
    """The keys that a list sorts by, each with its columns, none of which may be NULL.

    tie_break: unique columns that end every order, so that it is total. unique: other columns that are.
    """

    columns: Mapping[str, tuple[str, ...]]
    tie_break: tuple[str, ...]
    unique: tuple[tuple[str, ...], ...] = ()

    @classmethod
    def of(cls, *keys: str, tie_break: str = "id", **columns: str) -> SortKeys:
        """Return keys with one column each: that with its name, or the given one."""
        return cls(
            {name: (name,) for name in keys} | {key: (name,) for key, name in columns.items()}, (tie_break,)
        )

    def order(self, sort: str) -> tuple[str, ...]:
        """Return the columns of keys such as `-environment,name`. Raises LookupError for an unknown key.

        A column counts where it first occurs. The tie-break has the direction of the last key.
        """
        keys = [
            ("-" if key.startswith("-") else "", self.columns[key.removeprefix("-")]) for key in split(sort)
        ]
        signs: dict[str, str] = {}
        for sign, columns in [*keys, (keys[-1][0], self.tie_break)]:
            if not self._is_total(signs):
                signs |= {column: sign for column in columns if column not in signs}
        return tuple(f"{sign}{column}" for column, sign in signs.items())

    def _is_total(self, columns: Mapping[str, str]) -> bool:
        return any(columns.keys() >= {*unique} for unique in (self.tie_break, *self.unique))


def split(sort: str) -> list[str]:
    """Return the keys in `a, -b`."""
    return [key.strip() for key in sort.split(",")]
