"""Whole jobs, made of every other room."""
