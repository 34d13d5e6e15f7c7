"""Typed methods over every route of the administration: records and methods, a module for each resource."""
