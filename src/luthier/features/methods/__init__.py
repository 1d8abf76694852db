"""Inductions, a file each."""
