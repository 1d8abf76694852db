"""Grammar or pool → more columns: features cut into bins, so that a linear model learns their shape.

In the order of the data: `counts` (which values a feature has, how often), `bins` and `bins_file` (values → bins of
like population), `fit_bins` (all of that), `induction` and `methods/` (a value → the columns it fires),
`rewrite_grammar` (grammars with bins), `curves` (what was learned).
"""
