"""When the certificates end with which this process serves TLS."""

from __future__ import annotations

from pathlib import Path

from cryptography.x509 import load_pem_x509_certificates
from prometheus_client import Gauge

_ENDS = Gauge(
    "cp_certificate_expiry_timestamp_seconds",
    "When the certificate ends that a process has loaded.",
    ["certificate"],
    multiprocess_mode="livemin",
)


def note_certificate(name: str, file: str) -> None:
    """Show when a certificate in use ends; of a chain, the first to end. Raises OSError, ValueError."""
    chain = load_pem_x509_certificates(Path(file).read_bytes())
    _ENDS.labels(name).set(min(certificate.not_valid_after_utc.timestamp() for certificate in chain))
