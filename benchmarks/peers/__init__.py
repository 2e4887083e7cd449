"""What we compare ourselves with, in the same server or beside it."""
