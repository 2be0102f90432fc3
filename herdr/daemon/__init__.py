"""What runs while nobody looks: scheduler, one supervisor per agent, scoring lanes, steering, mailbox, outbox."""
