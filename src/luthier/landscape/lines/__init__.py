"""The gain along a line of weights, exactly.

Read `curve` first (breakpoints and gains), then `sweep` (how envelopes become a curve), `list_lines` (how K-best lists
answer), `places` (where on a line to go), `promises` (what each weight alone would gain) and `line_report` (the whole
report, with its proof).
"""
