"""References: what receivers of channels call messages that later ones change."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from controlplane.delivery.claims import Claim
from controlplane.delivery.kinds import channel_kind_names
from controlplane.delivery.models import Delivery


def references_of(claims: Iterable[Claim]) -> dict[tuple[UUID, str], str]:
    """Return the last reference of each channel's sink and key that has one."""
    channels = channel_kind_names()
    wanted = [leased for leased in claims if leased.sink_kind in channels]
    if not wanted:
        return {}
    rows = Delivery.objects.exclude(reference="").filter(
        sink__in={leased.sink_id for leased in wanted}, key__in={leased.key for leased in wanted}
    )
    # The latest one last, so that it stays.
    ordered = rows.order_by("seq").values_list("sink_id", "key", "reference")
    return {(sink_id, key): reference for sink_id, key, reference in ordered}
