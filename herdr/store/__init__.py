"""The database: one SQLite file that holds all that a restart needs."""
