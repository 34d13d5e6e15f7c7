"""The search page and the suggestions while one types."""
