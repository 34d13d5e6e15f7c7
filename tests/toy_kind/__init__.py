"""A custom kind of resource, as an application of a project: snippets of code that people share."""
