"""Releases in the studio: the pages of a workspace, publishing together, and adding from other pages."""
