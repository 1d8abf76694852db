"""Formats of grammars, a file each."""
