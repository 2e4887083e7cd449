"""HTTP endpoints for events: lists, streams and long polls."""
