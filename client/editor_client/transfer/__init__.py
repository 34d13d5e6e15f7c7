"""The command line, which imports, exports, pulls and pushes what is in the editor."""
