"""Minkowski sums of lists by reverse search."""
