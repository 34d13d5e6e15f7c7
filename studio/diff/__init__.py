"""Comparison of two versions, inline or side by side, and merging of two edits. Only `views` knows Django."""
