"""One file per command of `polyresearch`."""
