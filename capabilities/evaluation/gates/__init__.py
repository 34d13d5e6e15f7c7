"""Gates: before a version goes live, there has to be evidence that it is good enough."""
