"""Pages of the API reference: an index with a filter, and a page for each operation."""
