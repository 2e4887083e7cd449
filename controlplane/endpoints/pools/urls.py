"""Routes of pools below /api/v1/."""

from django.urls import path

from controlplane.endpoints.pools import lease_batch_views, lease_views, limit_views, pool_views

# Names have colons. What ends with an operation comes first.
urlpatterns = [
    path("pools", pool_views.PoolCollection.as_view()),
    path("pools/<str:pool>:explain", pool_views.PoolExplain.as_view()),
    path("pools/<str:pool>/usage", pool_views.PoolUsageView.as_view()),
    path("pools/<str:pool>/limits", limit_views.LimitCollection.as_view()),
    path("pools/<str:pool>/leases", lease_views.LeaseCollection.as_view()),
    path("pools/<str:pool>/leases:batch", lease_batch_views.LeaseBatchView.as_view()),
    path("pools/<str:pool>/leases:release", lease_views.LeaseReleaseView.as_view()),
    path("pools/<str:pool>/leases/<uuid:lease_id>", lease_views.LeaseItem.as_view()),
    path("pools/<str:pool>/leases/<uuid:lease_id>:renew", lease_views.LeaseRenewalView.as_view()),
    path("pools/<str:pool>/leases/<uuid:lease_id>:revoke", lease_views.LeaseRevocation.as_view()),
    path("pools/<str:pool>", pool_views.PoolItem.as_view()),
]
