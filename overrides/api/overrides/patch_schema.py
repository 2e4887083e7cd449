"""The schema of a JSON Patch (RFC 6902), for openapi.yaml; read by controlplane/formats/json_patch.py."""

from __future__ import annotations

from rest_framework import serializers

from overrides.api.schemas import AnyJSONField

PATCH_OPERATIONS = [(name, name) for name in ("add", "remove", "replace", "move", "copy", "test")]
_Operation = type(
    "_Operation",
    (serializers.Serializer,),
    {"from": serializers.CharField(required=False, help_text="JSON Pointer; for `move` and `copy`.")},
)


class JsonPatchOperation(_Operation):  # type: ignore[misc, valid-type]  # `from` is a keyword of Python
    """One operation of a JSON Patch (RFC 6902)."""

    op = serializers.ChoiceField(choices=PATCH_OPERATIONS)
    path = serializers.CharField(help_text="JSON Pointer, such as `/attributes/limits/cpu`.")
    value = AnyJSONField(required=False, help_text="For `add`, `replace` and `test`.")
