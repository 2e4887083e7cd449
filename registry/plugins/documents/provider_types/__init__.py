"""Types of plugin providers: one module per type. Pure.

A new type is a module with a `TYPE`, and an entry here.
"""

from __future__ import annotations

from collections.abc import Mapping

from registry.plugins.documents.provider_types import file, gcs, s3, url
from registry.plugins.documents.provider_types.provider_type import ProviderType

PROVIDER_TYPES: Mapping[str, ProviderType] = {
    provider_type.name: provider_type for provider_type in (url.TYPE, gcs.TYPE, s3.TYPE, file.TYPE)
}
