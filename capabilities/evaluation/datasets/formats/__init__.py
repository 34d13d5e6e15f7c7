"""The formats of files with the items of a dataset. Pure: rows of a file to items, and items to a file."""
