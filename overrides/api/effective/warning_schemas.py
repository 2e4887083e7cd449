"""Schema of warnings about effective values, which are no errors: what they name may come later."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from controlplane.errors import FieldError


class ValueWarning(serializers.Serializer[Any]):
    """What is wrong with an effective value."""

    resource_type = serializers.CharField()
    pointer = serializers.CharField(help_text="JSON Pointer into the effective attributes of the type.")
    code = serializers.CharField()
    message = serializers.CharField()


def show_warning(resource_type: str, error: FieldError) -> dict[str, Any]:
    return {
        "resource_type": resource_type,
        "pointer": error.pointer,
        "code": error.code,
        "message": error.message,
    }
