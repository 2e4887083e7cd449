"""The demo's story: what people and programs did before you came, told by requests to the API."""
