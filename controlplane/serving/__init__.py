"""The web process: a parent that keeps its workers running, each with uvicorn and our HTTP protocol."""
