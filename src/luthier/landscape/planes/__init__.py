"""The gain over a plane of weights: every cell of a window, with its score.

Read `scored_cells` (cells with gains) and `plane_lists` (lists seen from a plane, bounds as walls) first, then
`best_cells` and `near_cells`, which tuners use. For reports read `plane`, then `survey` (all cells passed once),
`surface` (the whole report), `check` (proof by re-ranking) and `view` (what a picture shows).
"""
