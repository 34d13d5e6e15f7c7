"""Comments on versions."""
