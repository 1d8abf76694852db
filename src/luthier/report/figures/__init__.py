"""A result as a picture: a file for each kind of result."""
