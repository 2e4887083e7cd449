"""Routes of pools."""

from django.urls import path

from console.pools import changes, pages

urlpatterns = [
    path("pools", pages.pools, name="pools"),
    path("pools:new", changes.create, name="pool-new"),
    path("pools/<str:name>", pages.pool, name="pool"),
    path("pools/<str:name>/edit", changes.edit, name="pool-edit"),
    path("pools/<str:name>/delete", changes.delete, name="pool-delete"),
    path("pools/<str:name>/limit", changes.limit, name="pool-limit"),
    path("pools/<str:name>/remove-limit", changes.remove_limit, name="pool-remove-limit"),
    path("pools/<str:name>/leases/<uuid:lease_id>/revoke", changes.revoke, name="pool-revoke"),
]
