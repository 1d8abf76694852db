"""Selections of all lists at once.

Read `corners` first (what the searches work on), then `joint_search` (the best selection, with a proof),
`joint_halves` (the same by divide and conquer) and `nearest_cone` (the nearest good one).
"""
