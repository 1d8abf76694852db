"""The shapes in which tools write lists of hypotheses, and the names that each tool uses.

Begin with `profiles`, then `json_lists` (a list inside an object) and `tables` (lists in a row, a column per system).
"""
