"""Providers of type `s3`: a bucket of Amazon S3, or of a store with its API. Pure."""

from __future__ import annotations

import re

from registry.plugins.documents.diagnostics import Code, Findings, Node
from registry.plugins.documents.fields import read_text
from registry.plugins.documents.provider_types.addresses import read_address
from registry.plugins.documents.provider_types.buckets import read_bucket
from registry.plugins.documents.provider_types.provider_type import ProviderType, SettingField

_REGION = re.compile(r"[a-z0-9][a-z0-9-]{0,40}")


def read_region(node: Node, findings: Findings) -> str | None:
    text = read_text(node, findings)
    if text is None or _REGION.fullmatch(text):
        return text
    findings.error(node.pointer, Code.INVALID_VALUE, "Expected a region such as eu-central-1.")
    return None


TYPE = ProviderType(
    name="s3",
    settings={
        "bucket": SettingField(read_bucket, required=True),
        "region": SettingField(read_region),
        "endpoint": SettingField(read_address),
    },
    auth_types=("aws",),
    address_field="endpoint",
)
