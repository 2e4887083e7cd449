"""The types of providers and what fetches from each. A new type is a module and an entry here."""

from __future__ import annotations

from collections.abc import Mapping

from registry.plugin_releases.fetching import buckets, file, url
from registry.plugin_releases.fetching.fetcher import Fetch

FETCHERS: Mapping[str, Fetch] = {
    "url": url.fetch,
    "file": file.fetch,
    "s3": buckets.fetch,
    "gcs": buckets.fetch,
}
