"""What an agent goes through: launched, briefed, watched, ended, and what it left."""
