"""The gain of a pool in parts: what each part is asked, and how the answers are put together.

Read `problem` first, then `part_work` (what is done with one part) and `part_answers` (what it sends back). `oracles`
go through the parts one after another.
"""
