"""The rules of a campaign: pure functions over plain structs, with no clock, no files and no database."""
