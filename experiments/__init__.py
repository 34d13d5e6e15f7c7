"""Which version is better with real people: rollouts, and their results."""
