"""Users and groups that an identity provider sends by SCIM: people and teams here."""
