"""Grammar or pool → more columns: features cut into bins, so that a linear model learns their shape.

In the order of the data: `counts` (which values a feature has, how often), `derived` (a feature that rules show
themselves), `binning` (values → bins of like population), `bins` and `bins_file`, `making` (all of that), `induction`
and `methods/` (a value → the columns it fires), `induce` (tables of rules, pools, grammars).
"""
