"""Pages of jobs: the list, one job, and what its runs get."""
