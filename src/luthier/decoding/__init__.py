"""Sentence, grammar and language model → forest → lists.

Begin with `forests/` (what a forest is, along lines of weights, and on disk), then `rule_rows` (the rules of a search),
`models` and `weighting` (what scores them), `chart/` (one sentence through the chart), `lazy_kbest` (a forest's best
derivations), `lists` (pools of them), `decoder` (the whole) and `semirings/` (any other value of all derivations).
"""
