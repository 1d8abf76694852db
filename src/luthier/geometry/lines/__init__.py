"""Envelopes of lines: which row of each segment is the highest, everywhere on a line.

`envelope` is all there is to read; its kernels find the lines that matter (`_survivor`), stack them and add values up
along the line (`_envelope`).
"""
