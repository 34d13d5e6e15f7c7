"""Runs: which versions a run served and what it used, recorded at its end and deleted after a while."""
