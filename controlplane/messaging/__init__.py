"""NATS JetStream."""
