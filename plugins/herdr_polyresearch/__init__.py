"""The polyresearch protocol for herdr: its rules, its command, and the forges it runs on."""
