"""What people and agents can ask for: one typed function each, with who may ask.

A person's command runs an operation on the database directly. An agent's command sends the same operation through
its mailbox, and the daemon runs it with the agent's identity. So there is one place that says who may do what.
"""
