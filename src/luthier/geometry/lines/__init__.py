"""Envelopes of lines: which row of each segment is the highest, everywhere on a line."""
