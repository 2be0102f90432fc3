"""Where agents run: the interface, the pane runtime on tmux, and the wrapper that every agent's process has."""
