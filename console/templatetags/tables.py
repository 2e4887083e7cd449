"""Template tags of the one table: `table` around `row` around `cell` and `detail`, with a Listing.

{% table listing %}{% for sink in sinks %}{% row sink.id sink.name %}
  {% cell "name" %}<a href="...">{{ sink.name }}</a>{% endcell %}
  {% detail %}more, shown only in the drawer{% enddetail %}
{% endrow %}{% endfor %}{% endtable %}
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html import unescape
from typing import Any
from urllib.parse import urlencode

from django import template
from django.template.base import FilterExpression, NodeList, Parser, Token
from django.utils.html import escape

from console.listing import Column, Listing

register = template.Library()
_TABLE, _ROW = "current_table", "current_row"
# Templates escape text, so a tag ends at the next >. strip_tags parses HTML and takes 25 times as long.
_TAG = re.compile("<[^>]*>")
# Characters that the narrowest column has room for.
_ALWAYS_FITS = 8


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell as rendered. text: without tags."""

    column: Column
    content: str
    text: str

    @property
    def title(self) -> str:
        """The text of a line that may be cut; none where the line always fits."""
        return self.text if len(self.text) > _ALWAYS_FITS else ""


@dataclass(slots=True)
class Row:
    """A row as rendered. detail: what only the drawer shows."""

    key: str
    name: str
    cells: list[Cell] = field(default_factory=list)
    detail: str = ""


@dataclass(slots=True)
class Drawn:
    """A table while it is rendered. kept: the parameters of the address that a link to a row keeps."""

    listing: Listing
    kept: str
    opened: Row | None = None


class TableNode(template.Node):
    def __init__(self, listing: FilterExpression, body: NodeList) -> None:
        self._listing, self._body = listing, body

    def render(self, context: Any) -> str:
        """Return the table, and the drawer if a row is open."""
        drawn = Drawn(self._listing.resolve(context), _kept(context["request"]))
        with context.push(**{_TABLE: drawn}):
            rows = self._body.render(context)
        values = {
            "listing": drawn.listing,
            "heads": _heads(drawn.listing),
            "rows": rows,
            "opened": drawn.opened,
        }
        return _render(context, "table", {**values, "hidden_inputs": _hidden_inputs(context["request"])})


class RowNode(template.Node):
    def __init__(self, key: FilterExpression, name: FilterExpression, body: NodeList) -> None:
        self._key, self._name, self._body = key, name, body

    def render(self, context: Any) -> str:
        """Return the row, and keep it for the drawer if it is open."""
        drawn: Drawn = context[_TABLE]
        row = Row(str(self._key.resolve(context)), str(self._name.resolve(context)))
        with context.push(**{_ROW: row}):
            self._body.render(context)
        is_open = row.key == drawn.listing.open
        if is_open:
            drawn.opened = row
        return _draw_row(row, drawn, is_open=is_open)


class CellNode(template.Node):
    def __init__(self, key: FilterExpression, body: NodeList) -> None:
        self._key, self._body = key, body

    def render(self, context: Any) -> str:
        """Add the cell to its row."""
        row, drawn = context[_ROW], context[_TABLE]
        column = drawn.listing.column(str(self._key.resolve(context)))
        if drawn.listing.shows(column.key) or row.key == drawn.listing.open:
            content = self._body.render(context).strip()
            row.cells.append(Cell(column, content, _text_of(content)))
        return ""


class DetailNode(template.Node):
    def __init__(self, body: NodeList) -> None:
        self._body = body

    def render(self, context: Any) -> str:
        """Keep what the drawer shows of an open row beside its cells."""
        row = context[_ROW]
        if row.key == context[_TABLE].listing.open:
            row.detail = self._body.render(context)
        return ""


@register.tag
def table(parser: Parser, token: Token) -> TableNode:
    """Show a table of a Listing: `{% table listing %} rows {% endtable %}`."""
    (listing,) = _arguments(parser, token, 1)
    return TableNode(listing, _body(parser, "endtable"))


@register.tag
def row(parser: Parser, token: Token) -> RowNode:
    """Show a row: `{% row key name %} cells {% endrow %}`; the key is that of `?open=`."""
    key, name = _arguments(parser, token, 2)
    return RowNode(key, name, _body(parser, "endrow"))


@register.tag
def cell(parser: Parser, token: Token) -> CellNode:
    """Show a cell of a column: `{% cell "state" %} content {% endcell %}`."""
    (key,) = _arguments(parser, token, 1)
    return CellNode(key, _body(parser, "endcell"))


@register.tag
def detail(parser: Parser, token: Token) -> DetailNode:
    """Show more of a row in its drawer: `{% detail %} content {% enddetail %}`."""
    _arguments(parser, token, 0)
    return DetailNode(_body(parser, "enddetail"))


def _arguments(parser: Parser, token: Token, count: int) -> list[FilterExpression]:
    name, *words = token.split_contents()
    if len(words) != count:
        raise template.TemplateSyntaxError(f"{name} takes {count} arguments, not {len(words)}.")
    return [parser.compile_filter(word) for word in words]


def _body(parser: Parser, end: str) -> NodeList:
    body = parser.parse((end,))
    parser.delete_first_token()
    return body


def _render(context: Any, part: str, values: dict[str, Any]) -> str:
    # As inclusion tags do it: the request stays, and the frame's context is not computed again.
    chosen = context.template.engine.get_template(f"console/parts/{part}.html")
    return str(chosen.render(context.new({**values, "request": context["request"]})))


def _kept(request: Any) -> str:
    query = request.GET.copy()
    query.pop("open", None)
    return f"{query.urlencode()}&" if query else ""


# Rows are drawn without a template each: of a page of fifty rows, those took half of the function calls.
_ROW_HTML = (
    '<tr{mark}>{cells}<td class="more"><a href="{address}" hx-get="{address}" data-open="{key}"'
    ' aria-label="Details of {name}"{current} title="Show details"><span aria-hidden="true">›</span></a>'
    "</td></tr>"
)


def _draw_row(row: Row, drawn: Drawn, *, is_open: bool) -> str:
    shown = [cell for cell in row.cells if drawn.listing.shows(cell.column.key)]
    cells = [_draw_cell(cell, f'td data-label="{escape(cell.column.label)}"') for cell in shown[1:]]
    ticks = drawn.listing.ticks
    tick = _draw_tick(row, ticks) if ticks else ""
    return _ROW_HTML.format(
        mark=' class="open"' if is_open else "",
        cells="".join([_draw_cell(shown[0], 'th scope="row"', tick), *cells]),
        address=escape(f"?{drawn.kept}{urlencode({'open': row.key})}"),
        key=escape(row.key),
        name=escape(row.name),
        current=' aria-current="true"' if is_open else "",
    )


def _draw_cell(cell: Cell, tag: str, before: str = "") -> str:
    number = ' class="number"' if cell.column.is_number else ""
    title = f' title="{escape(cell.title)}"' if cell.title else ""
    return f"<{tag}{number}{title}>{before}{cell.content}</{tag[:2]}>"


def _draw_tick(row: Row, form: str) -> str:
    name = f'name="ticked" value="{escape(row.key)}" aria-label="Tick {escape(row.name)}"'
    return f'<input type="checkbox" form="{escape(form)}" {name}>'


def _text_of(content: str) -> str:
    return " ".join(unescape(_TAG.sub("", content)).split())


def _heads(listing: Listing) -> list[tuple[Column, str, str]]:
    """Return each shown column with its direction, and the value of `sort` that turns it."""
    directions = [(column, listing.direction(column.key)) for column in listing.heads]
    return [
        (column, way, f"-{column.key}" if way == "ascending" else column.key) for column, way in directions
    ]


def _hidden_inputs(request: Any) -> list[tuple[str, str]]:
    """Return the parameters that the form of the column chooser keeps."""
    pairs = ((name, value) for name, values in request.GET.lists() for value in values)
    return [(name, value) for name, value in pairs if name not in ("columns", "cursor", "open")]
