"""The home page: tasks, waiting drafts, recent and starred resources."""
