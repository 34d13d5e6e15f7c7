"""The activity pages, the audit log, the bell, and what open pages poll for. All of them read the log."""
