"""The sweep: leases that ran out, and what follows."""
