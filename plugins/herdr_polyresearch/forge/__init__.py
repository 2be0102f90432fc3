"""Where issues, pull requests and comments live: one interface, several implementations."""
