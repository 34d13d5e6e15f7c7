"""A class for each JSON object of the API: it validates or serializes the object, and documents it."""
