"""The activity pages, the audit log, the bell, and the polling of open pages. All of them read the log."""
