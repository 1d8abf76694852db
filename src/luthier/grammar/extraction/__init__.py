"""A model and sentences → rules.

Read `extract` first (the whole), then, in the order of the data, `limits` (of what is a rule), `patterns` (what is
looked up for a sentence), `occurrences` (where that stands in the corpus), `tally` (rules read off and counted),
`features` with `feature_kinds` (counts → numbers) and `assembly` (a grammar of it all). `held_out` leaves a sentence's
own pair out.
"""
