"""What a table shows, as the URL says: columns, order, and the row that is open in the drawer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse, QueryDict

# Parameters of the URL that change how a list looks, and not what it contains.
LOOKS = ("columns", "open")
COLUMNS_COOKIE = "cp-columns"
_MAX_TABLES = 30
_YEAR = 365 * 24 * 3600


@dataclass(frozen=True, slots=True)
class Column:
    """A column. width: tiny, short (an age), narrow, place (an environment), medium, wide; empty: the rest.

    order: fields to sort by, ascending; the last must be unique. is_optional: whether it can be left out.
    is_extra: left out until somebody chooses it.
    """

    key: str
    label: str
    width: str = ""
    order: tuple[str, ...] = ()
    is_number: bool = False
    is_optional: bool = True
    is_extra: bool = False


@dataclass(frozen=True, slots=True)
class Listing:
    """A table as one request wants it. Build it with `read_listing`.

    ticks: the id of the form that rows can be ticked for, which is sent their keys as `ticked`.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    visible: tuple[str, ...]
    sort: str = ""
    open: str = ""
    has_chooser: bool = True
    ticks: str = ""

    @property
    def heads(self) -> list[Column]:
        return [column for column in self.columns if column.key in self.visible]

    def shows(self, key: str) -> bool:
        return key in self.visible

    def column(self, key: str) -> Column:
        """Return the column with a key. Raises LookupError."""
        for column in self.columns:
            if column.key == key:
                return column
        raise LookupError(f"The table {self.name} has no column {key}.")

    @property
    def order(self) -> tuple[str, ...]:
        """Return the fields of the chosen column, in the chosen direction; empty for the list's own order."""
        fields = next(
            (column.order for column in self.columns if column.key == self.sort.removeprefix("-")), ()
        )
        return tuple(_turned(field) for field in fields) if self.sort.startswith("-") else fields

    def direction(self, key: str) -> str:
        """Return how the table is sorted by a column, in the words of ARIA; empty if it is not."""
        return {key: "ascending", f"-{key}": "descending"}.get(self.sort, "")


def read_listing(
    request: HttpRequest,
    name: str,
    title: str,
    columns: Sequence[Column],
    *,
    sort: str = "",
    has_chooser: bool = True,
    ticks: str = "",
) -> Listing:
    """Return the table as the URL wants it; columns also as the browser remembers them.

    sort: the key of the column that the list is sorted by if the URL says nothing; `-key` for descending.
    """
    remembered = read_choices(request.COOKIES.get(COLUMNS_COOKIE, ""))
    chosen = chosen_columns(request.GET) if "columns" in request.GET else remembered.get(name, ())
    visible = visible_columns(columns, chosen)
    if "columns" in request.GET and has_chooser:
        # Set as a cookie by `page`: a script could only hide columns after they were seen.
        request.remember_columns = write_choices({**remembered, name: chosen})  # type: ignore[attr-defined]
    sorting = request.GET.get("sort", "")
    is_known = any(column.order and column.key == sorting.removeprefix("-") for column in columns)
    return Listing(
        name,
        title,
        tuple(columns),
        visible,
        sorting if is_known else sort,
        request.GET.get("open", "")[:200],
        has_chooser,
        ticks,
    )


def remember_columns(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Have the browser remember the columns that the URL chose."""
    chosen = getattr(request, "remember_columns", None)
    if chosen is not None:
        response.set_cookie(COLUMNS_COOKIE, chosen, max_age=_YEAR, samesite="Lax", httponly=True)
    return response


def visible_columns(columns: Sequence[Column], chosen: Sequence[str]) -> tuple[str, ...]:
    """Return the keys of the columns to show: the chosen ones, and those that are never left out."""
    selected = {column.key for column in columns} & set(chosen)
    if not selected:
        return tuple(column.key for column in columns if not column.is_extra)
    return tuple(column.key for column in columns if column.key in selected or not column.is_optional)


def chosen_columns(parameters: QueryDict) -> tuple[str, ...]:
    """Return the keys in `columns=a,b` or `columns=a&columns=b`, as a form without a script sends them."""
    return tuple(key for value in parameters.getlist("columns") for key in value.split(",") if key)


def read_choices(cookie: str) -> dict[str, tuple[str, ...]]:
    """Return the columns of each table in a cookie such as `sinks:name.state|events:type`."""
    pairs = (part.partition(":") for part in cookie.split("|") if ":" in part)
    return {name: tuple(keys.split(".")) for name, _, keys in pairs}


def write_choices(choices: Mapping[str, Sequence[str]]) -> str:
    """Return the cookie that `read_choices` reads: the latest tables, without those of no choice."""
    latest = [(name, keys) for name, keys in choices.items() if keys][-_MAX_TABLES:]
    return "|".join(f"{name}:{'.'.join(keys)}" for name, keys in latest)


def _turned(field: str) -> str:
    return field[1:] if field.startswith("-") else f"-{field}"
