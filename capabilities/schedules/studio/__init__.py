"""The studio's pages about schedules, and its panels on other pages."""
