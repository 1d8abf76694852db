"""Whole jobs, one file each: a typed function in, a frozen result out; what Python users, cli and explorer call.

Read `tune` first, with `tuning_job`, `validation`, `ablate` and `length_penalty`; the others are built like it. From
text to lists: `align`, `extract`, `lm`, `decode`, `bins`, and all of it in `train` and `loop`. `sweep` tries settings,
`demo` runs everything, `warm` compiles kernels by the small jobs of `warmup/`; `lab` finds the studies.
"""
