"""Comments in the studio: panels on the pages about versions, and the page of a thread."""
