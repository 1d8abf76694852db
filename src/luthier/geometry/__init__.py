"""Arrays → envelopes, error surfaces, polytopes, fans, proofs; a folder each. Knows no word of translation.

Begin with `lines/` (one dimension), then `plane/` (two), `polytopes/` (one list, any dimension), `sums/` (all lists, by
reverse search), `joint/` (the best that one vector can select) and `lp/` (what can be selected at all, with proofs).
`subspace` and `balance` bring rows into coordinates and units.
"""
