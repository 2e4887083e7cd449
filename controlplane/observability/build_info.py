"""The version of a server as a metric, so that servers of two versions are seen side by side."""

from __future__ import annotations

import platform
from collections.abc import Iterator

from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from controlplane import __version__


class BuildInfo(Collector):
    def collect(self) -> Iterator[Metric]:
        family = GaugeMetricFamily("cp_build_info", "Always 1.", labels=["version", "python"])
        family.add_metric([__version__, platform.python_version()], 1)
        yield family
