"""One data plane's configuration, computed from all documents. Pure."""
