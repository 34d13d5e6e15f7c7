"""What goes live later: schedules of versions and of releases."""
