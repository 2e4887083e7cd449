"""Providers of type `url`: a web server. Pure."""

from registry.plugins.documents.provider_types.addresses import read_address
from registry.plugins.documents.provider_types.provider_type import ProviderType, SettingField

TYPE = ProviderType(
    name="url",
    settings={"url": SettingField(read_address, required=True)},
    auth_types=("basic", "bearer", "header"),
    address_field="url",
    demands_checksum=True,
)
