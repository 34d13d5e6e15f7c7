"""Typed methods for every administrative route, a module for each resource; `shapes` is generated."""
