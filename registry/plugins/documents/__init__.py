"""Documents of plugin releases: the configuration, and specifications of version 1 and 2. Pure."""
