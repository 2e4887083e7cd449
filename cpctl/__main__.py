"""`python -m cpctl`."""

from cpctl.main import main

main()
