"""What a reward pays for, measured before training: answers are edited, and what each edit earns is counted."""
