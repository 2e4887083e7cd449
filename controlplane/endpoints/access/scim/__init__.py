"""HTTP endpoints of SCIM 2.0 (RFC 7643, RFC 7644), also as Okta and Entra ID call them."""
