"""Calls of Flyte's clients about logins: where to get a token, with which client, and whose token it is."""

from __future__ import annotations

from typing import Any

from flyteidl.service import auth_pb2, identity_pb2
from google.protobuf import json_format

from controlplane.access.flyte_auth import metadata
from controlplane.access.login.user_info import user_info as claims_about
from controlplane.access.models import Principal
from controlplane.identity.callers import Caller


def oauth2_metadata(request: Any, caller: Caller | None) -> auth_pb2.OAuth2MetadataResponse:
    """Return the members of the metadata document that the message has. Raises IssuerUnavailable."""
    document = metadata.authorization_server_metadata()
    fields = auth_pb2.OAuth2MetadataResponse.DESCRIPTOR.fields_by_name
    members = {name: value for name, value in document.items() if name in fields and value is not None}
    return json_format.ParseDict(members, auth_pb2.OAuth2MetadataResponse())


def client_config(request: Any, caller: Caller | None) -> auth_pb2.PublicClientAuthConfigResponse:
    client = metadata.public_client()
    return auth_pb2.PublicClientAuthConfigResponse(
        client_id=client.client_id,
        redirect_uri=client.redirect_uri,
        scopes=client.scopes,
        authorization_metadata_key=client.authorization_metadata_key,
        audience=client.audience,
    )


def user_info(request: Any, caller: Caller | None) -> identity_pb2.UserInfoResponse:
    """Return the caller; an empty message for an anonymous reader."""
    if caller is None or caller.principal_id is None:
        return identity_pb2.UserInfoResponse()
    principal = Principal.objects.get(id=caller.principal_id)
    return json_format.ParseDict(claims_about(principal).as_json(), identity_pb2.UserInfoResponse())
