"""Whether a draft is better, before it is live: scorers of answers."""
