"""A result as tables for the terminal, as Markdown or as plain data: a file for each kind of result."""
