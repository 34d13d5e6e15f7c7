"""Schedules: publishing versions and releases later."""
