"""Resources as people and programs see them: requests, searches, timelines, checks of specs and scopes."""
