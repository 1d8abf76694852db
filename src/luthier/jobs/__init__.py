"""Whole jobs, one file each: a function with keyword options in, a frozen result out; made of every other room.

Each function has the name and the options of its command and stands in luthier: the command line, the explorer and
Python call these and nothing deeper. Read `tune` first, with `tuning_job`, `validation`, `ablate` and
`length_penalty`; the others are built like it. `opening` says what they take: pools or paths, metrics or names,
weights in any form. `warm` compiles kernels by the small jobs of `warmup/`; `lab` finds the studies.
"""
