"""What is open, and what is asked of it.

Read `session` first (lists, metric, named weights), then `request` (JSON of a stranger, checked) and `responses` (how
numbers travel). `tail` reads files of states that grow; `folders` finds runs, and `workspace` opens those chosen.
"""
