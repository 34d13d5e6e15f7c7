"""Which version is better with real people: rollouts, and what came of them."""
