"""The gain over a plane of weights: every cell of a window, with its score.

Read `plane` first (lists seen from a plane, bounds as walls), then `best_cells`, which tuners use. For reports read
`survey` (all cells visited once), `surface` (the whole report, with its check by re-ranking), `robust` (optima under
noise), `stability` (optima of resamples), `pixels` and `view` (what a picture shows).
"""
