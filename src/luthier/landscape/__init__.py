"""The gain as a function of weights: what a tuner asks, and what geometry finds, as frozen results.

Read `problem` first (what every tuner may ask), then `list_problem` (the one of K-best lists), `parted` (that of a pool
in parts), `bounds`, `units` and `subspaces`. `lines` has curves along a line, `nearby` the rows that matter round given
weights, `planes` every cell of a plane, `spaces` cells of more dimensions, `cones` and `fans` normal cones of many
lists and of single ones, `selections` what can be selected at all.
"""
