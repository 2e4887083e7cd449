"""Logins with OAuth 2: in the browser, with a code on another device, or as a client."""
