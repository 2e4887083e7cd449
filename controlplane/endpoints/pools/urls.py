"""Routes of pools below /api/v1/."""

from django.urls import path, register_converter

from controlplane.endpoints.pools import lease_batch_views, lease_views, limit_views, pool_views


class PoolName:
    """A name with colons: routes that end with an operation come first."""

    regex = r"[^/]+?"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


register_converter(PoolName, "pool")

urlpatterns = [
    path("pools", pool_views.PoolCollection.as_view()),
    path("pools/<pool:pool>:explain", pool_views.PoolExplain.as_view()),
    path("pools/<pool:pool>/usage", pool_views.PoolUsageView.as_view()),
    path("pools/<pool:pool>/limits", limit_views.LimitCollection.as_view()),
    path("pools/<pool:pool>/leases", lease_views.LeaseCollection.as_view()),
    path("pools/<pool:pool>/leases:batch", lease_batch_views.LeaseBatchView.as_view()),
    path("pools/<pool:pool>/leases:release", lease_views.LeaseReleaseView.as_view()),
    path("pools/<pool:pool>/leases/<uuid:lease_id>", lease_views.LeaseItem.as_view()),
    path("pools/<pool:pool>/leases/<uuid:lease_id>:renew", lease_views.LeaseRenewalView.as_view()),
    path("pools/<pool:pool>/leases/<uuid:lease_id>:revoke", lease_views.LeaseRevocation.as_view()),
    path("pools/<pool:pool>", pool_views.PoolItem.as_view()),
]
