"""Notifications: rules turn events into alerts, and alerts into messages for people."""
