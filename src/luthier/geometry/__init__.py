"""Arrays → envelopes, error surfaces, polytopes, fans, proofs; a folder each. Knows no word of translation.

Begin with `lines/` (one dimension), then `plane/` (two), `polytopes/` (one list, any dimension), `minkowski/` (sums
of all lists, by reverse search), `joint_selection/` (the best that one vector can select) and `lp/` (what can be
selected at all, with proofs). `subspace` and `equilibration` bring rows into coordinates and units.
"""
