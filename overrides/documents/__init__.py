"""RFC 3749's overrides document, export, and documents of guard rails and resource types."""
