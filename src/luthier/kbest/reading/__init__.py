"""From the bytes of a list to blocks of columns.

Read `reader` first (what a reader is and yields), then `columns` and `pipes` (how lines are cut), `column_roles`
(which column is what) and `line_errors` (how bad lines are reported). `json_tape` is for JSON Lines, `arrow_rows` for
tables, `archives` for speech recognizers.
"""
