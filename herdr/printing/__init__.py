"""How values and things are worded for people: what commands, the watch screen and the demo print alike."""
