"""Login at OpenID providers: providers, the authorization code flow, identities and logout."""
