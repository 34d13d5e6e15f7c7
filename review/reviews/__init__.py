"""Reviews and their verdicts."""
