"""What hypotheses are worth to the metric.

Read `outcomes` first (hypotheses with the same statistics are one), then `single` (worth by itself or to the corpus),
`words` (on the scale of words), `additive` (as sums over sentences) and `expectation` (under a softmax over each list).
"""
