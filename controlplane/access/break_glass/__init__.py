"""Emergency access: the role admin for a limited time, opened on a host with access to the database."""
