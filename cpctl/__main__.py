"""Entry point of `python -m cpctl`."""

from cpctl.main import main

main()
