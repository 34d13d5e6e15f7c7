"""Named example contexts of a resource, for previews and for trying a draft."""
