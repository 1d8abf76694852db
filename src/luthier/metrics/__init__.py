"""Hypotheses and references become statistics, and sums of statistics become scores.

Read `base` (what a metric is) and `batch` (what it looks at), then a file of `methods/`. `ngrams` and `edits` are what
several metrics share, `expression` weighted sums of metrics, `loading` their names, `majorant` upper limits of
scores for proofs; `pools` keeps the statistics of a pool, `oracle` chooses by them.
"""
