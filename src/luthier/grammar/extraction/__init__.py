"""A model and sentences → rules.

Read `extract` first (the whole), then, in the order of the data, `options` (what is a rule), `patterns` (what is
looked up for a sentence, and where it occurs), `tally` (rules read off and counted) and `assembly` (features, and a
grammar of it all). `leave_one_out` leaves a sentence's own pair out.
"""
