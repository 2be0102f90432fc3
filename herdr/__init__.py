"""herdr runs a fleet of coding agents on one repo and keeps what beats the best so far."""

__version__ = "0.1.0"
