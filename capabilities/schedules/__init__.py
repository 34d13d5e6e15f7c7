"""Schedules: publishing or unpublishing versions and releases at a set time."""
