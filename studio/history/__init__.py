"""The history of a resource with the periods in which versions were live, and the page of one version."""
