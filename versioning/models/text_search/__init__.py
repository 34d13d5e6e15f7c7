"""The index for searching texts by their words: docs/decisions/0034.

A document of the index is a version that a pointer leads to. Versions never change, so neither do documents;
which of them a caller may read, and whether they are live, is asked of the resources with each search. So the
index can be behind, and can have documents too many, but never finds what is not there.
"""
