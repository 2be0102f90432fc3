"""Where agents run: the interface, the runtimes (tmux and background), and every agent's wrapper process."""
