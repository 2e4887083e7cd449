"""Routes of the authorization server, at the paths that Flyte's clients know."""

from django.urls import path

from controlplane.endpoints.access.oauth import (
    authorization,
    client_views,
    documents,
    signing_key_views,
    token_endpoint,
)

protocol = [
    path("oauth2/authorize", authorization.authorize, name="oauth-authorize"),
    path("oauth2/token", token_endpoint.token),
    path("oauth2/device", token_endpoint.device_authorization),
    path("oauth2/revoke", token_endpoint.revoke),
    path("oauth2/introspect", token_endpoint.introspect),
    path("oauth2/jwks", documents.jwks),
    path("oauth2/userinfo", documents.userinfo),
    path(".well-known/oauth-authorization-server", documents.authorization_server),
    path(".well-known/oauth-protected-resource", documents.protected_resource),
    path(".well-known/openid-configuration", documents.openid_configuration),
]
# Below /api/v1/.
api = [
    path("oauth-clients", client_views.ClientCollection.as_view()),
    path("oauth-clients/<str:client_id>", client_views.ClientItem.as_view()),
    path("oauth-clients/<str:client_id>/secrets", client_views.SecretCollection.as_view()),
    path("oauth-clients/<str:client_id>/secrets/<uuid:secret_id>", client_views.SecretItem.as_view()),
    path("signing-keys", signing_key_views.SigningKeyCollection.as_view()),
    path("signing-keys:rotate", signing_key_views.SigningKeysRotate.as_view()),
]
