"""What goes in and out: requests, texts for agents, comments, facts for plugins, ideas from outside."""
