"""From the bytes of a list to blocks of columns.

Read `reader` first (what a reader is and yields), then `columns` and `pipes` (how lines are cut), `faults` (how bad
lines are told), and last `lists`, which reads whole files of any format into a pool.
"""
