"""What runs used and served: recorded when they end, and stored for a while."""
