"""The commands `herdr` and `piloop`: they read arguments, ask for an operation, and print its answer."""
