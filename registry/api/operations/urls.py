"""Routes of operations, below /api/v1/."""

from django.urls import path

from registry.api.operations import views

urlpatterns = [
    path("operations", views.OperationCollection.as_view()),
    # Before the operation itself, whose id would match it.
    path("operations/<str:operation_id>:cancel", views.OperationCancellation.as_view()),
    path("operations/<str:operation_id>", views.OperationItem.as_view()),
]
