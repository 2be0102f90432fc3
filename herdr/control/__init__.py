"""What a person's programs need around the daemon: start it, find it and the tmux sessions of its agents."""
