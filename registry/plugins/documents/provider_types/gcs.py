"""Providers of type `gcs`: a bucket of Google Cloud Storage. Pure."""

from registry.plugins.documents.provider_types.addresses import read_address
from registry.plugins.documents.provider_types.buckets import read_bucket
from registry.plugins.documents.provider_types.provider_type import ProviderType, SettingField

TYPE = ProviderType(
    name="gcs",
    settings={"bucket": SettingField(read_bucket, required=True), "endpoint": SettingField(read_address)},
    auth_types=("gcp",),
    address_field="endpoint",
    accepts_service_account=True,
)
