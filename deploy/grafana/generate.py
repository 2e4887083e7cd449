"""`python -m deploy.grafana.generate`: write the dashboards as JSON, one file each, beside this program."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from string import ascii_uppercase

from grafana_foundation_sdk.builders import common, dashboard, prometheus, timeseries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.common import (
    LegendDisplayMode,
    LegendPlacement,
    SortOrder,
    TooltipDisplayMode,
)
from grafana_foundation_sdk.models.dashboard import DataSourceRef

from deploy.grafana.dashboards import DASHBOARDS
from deploy.grafana.panels import Dashboard, Panel

FOLDER = Path(__file__).parent
# Chosen above the panels, so that one file serves every installation.
_SOURCE = DataSourceRef(type_val="prometheus", uid="${datasource}")
_HALF, _HEIGHT = 12, 8


def texts() -> Iterator[tuple[str, str]]:
    """Yield name and content of each file."""
    for each in DASHBOARDS:
        yield f"{each.name}.json", JSONEncoder(sort_keys=True, indent=2).encode(_built(each)) + "\n"


def _built(content: Dashboard) -> object:
    builder = (
        dashboard.Dashboard(content.title)
        .uid(content.name)
        .tags(["controlplane"])
        .refresh("1m")
        .time("now-6h", "now")
        .timezone("browser")
        .with_variable(dashboard.DatasourceVariable("datasource").label("Prometheus").type("prometheus"))
    )
    for panel in content.panels:
        builder = builder.with_panel(_panel(panel))
    return builder.build()


def _panel(content: Panel) -> timeseries.Panel:
    panel = (
        timeseries.Panel()
        .title(content.title)
        .description(content.description)
        .unit(content.unit)
        .datasource(_SOURCE)
        .height(_HEIGHT)
        .span(_HALF)
        .min(0)
        .fill_opacity(10)
        .legend(
            common.VizLegendOptions()
            .show_legend(True)
            .display_mode(LegendDisplayMode.LIST)
            .placement(LegendPlacement.BOTTOM)
        )
        .tooltip(common.VizTooltipOptions().mode(TooltipDisplayMode.MULTI).sort(SortOrder.DESCENDING))
    )
    for letter, query in zip(ascii_uppercase, content.queries, strict=False):
        target = prometheus.Dataquery().ref_id(letter).expr(query.expr).legend_format(query.legend)
        panel = panel.with_target(target)
    return panel


def main() -> int:
    for name, text in texts():
        (FOLDER / name).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
