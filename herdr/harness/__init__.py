"""The host's side of a harness: reading its screen, finding it by name, and defining one without Python."""
