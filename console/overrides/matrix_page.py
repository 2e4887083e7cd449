"""The matrix as the page shows it: who may edit what, and the setting whose explanation is open."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from console.overrides import explanation_page, ladder
from console.overrides.matrix_rows import Row
from console.overrides.scheduled import Pending
from controlplane.identity.callers import Caller
from controlplane.scopes import Scope


@dataclass(frozen=True, slots=True)
class PageRow:
    """A row. url: the page with its explanation open, or closed again. explained: None if it is closed."""

    row: Row
    cells: tuple[ladder.Cell, ...]
    url: str
    explained: explanation_page.Explanation | None


@dataclass(frozen=True, slots=True)
class PageGroup:
    """The settings of a type, and whether the caller may edit the override at the scope."""

    group: ladder.Group
    rows: tuple[PageRow, ...]
    may_edit: bool
    pending: Sequence[Pending]


@dataclass(frozen=True, slots=True)
class Address:
    """The address of the page. opened: the setting whose explanation is open, as `type/pointer`.

    without: the level of the opened setting whose removal the caller asks about.
    """

    scope: Scope
    looks: Mapping[str, str]
    opened: str = ""
    without: str = ""

    def with_explanation(self, setting: str = "") -> str:
        """Return the address with the explanation of the setting open; of none if it is empty."""
        segments = {name: value for name, value in self.scope.segments.items() if value}
        why = {"why": setting} if setting else {}
        return f"?{urlencode({**segments, **self.looks, **why}, safe='/')}"


def page_groups(
    matrix: ladder.Matrix,
    address: Address,
    caller: Caller,
    *,
    editable: Container[str],
    pending: Mapping[str, Sequence[Pending]],
) -> list[PageGroup]:
    return [
        PageGroup(
            group,
            tuple(_page_row(group, row, cells, address, caller) for row, cells in group.rows),
            group.type.name in editable,
            pending.get(group.type.name, ()),
        )
        for group in matrix.groups
    ]


def _page_row(
    group: ladder.Group, row: Row, cells: tuple[ladder.Cell, ...], address: Address, caller: Caller
) -> PageRow:
    setting = f"{group.type.name}{row.pointer}"
    url = address.with_explanation(setting)
    if setting != address.opened:
        return PageRow(row, cells, url, None)
    question = explanation_page.Question(address.scope, group.type, row, cells, url, address.without)
    explained = explanation_page.explanation_of(question, caller)
    return PageRow(row, cells, address.with_explanation(), explained)
