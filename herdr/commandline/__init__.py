"""What each of our programs is made of: a group that loads a command when it is called, and error messages."""
