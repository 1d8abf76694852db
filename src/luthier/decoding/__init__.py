"""Sentence, grammar and language model → forest → lists.

Begin with `forests/` (what a forest is, along lines of weights, and on disk), then `rule_rows` (the rules of a
search), `models` (what scores them), `chart/` (one sentence through the chart), `lazy_kbest` (a forest's best
derivations), `lists` (pools of them) and `decoder` (the whole).
"""
