"""The rules of the protocol: pure functions over plain structs, with no clock, no files and no network."""
