"""The gain as a function of weights: what a tuner asks, and what geometry finds, as frozen results.

Read `problem` first, then `bounds`, `units` and `subspaces`. `lines` has curves along a line, `planes` every cell
of a plane, `cones` and `fans` spaces of more dimensions and single lists, `selections` what can be selected at all.
"""
