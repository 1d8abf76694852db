"""Aligners, one file each."""
