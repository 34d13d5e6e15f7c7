"""A kind of resource of its own, as an application of a project: snippets of code that people share."""
