"""Pages of the console."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
