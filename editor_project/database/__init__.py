"""The database backends that the settings name."""
