"""Git: worktrees, commits, pins and merges, all beside the user's checkout, which stays as it is."""
