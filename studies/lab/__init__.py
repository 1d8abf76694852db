"""The runner of the papers' studies: a file names data, tuners and metrics; every unit is run once and kept as a line.

Read `base` first: what a study, its units and its lines are, and how they are run. `kinds/` has a file for each kind
of study, `capacity/` the parts of one. Data are `lists` or those of a trained `system`, which whole loops decode with.
"""
