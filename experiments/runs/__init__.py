"""What runs used and served: recorded while they end, and remembered for a while."""
