"""tmux: our own server, one control-mode client per session, windows, reading and typing."""
