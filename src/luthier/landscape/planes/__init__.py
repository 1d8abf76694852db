"""The gain over a plane of weights: every cell of a window, with its score.

Read `plane` first, then `survey` (all cells passed once), `surface` (the whole report), `check` (proof by re-
ranking) and `view` (what a picture shows).
"""
