"""One reader for each format; each turns parsed values into a `Collection`."""
