"""The demo's story: what people and programs did before you came, as requests to the API."""
