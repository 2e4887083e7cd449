"""Pages of plugins: what is installed, releases with their differences, and the configuration."""
