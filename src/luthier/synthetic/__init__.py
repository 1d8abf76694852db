"""Languages, parallel text and K-best lists made by rule: for the demonstration, tests and benchmarks.

`pair` writes parallel text of two synthetic languages, `lists` the K-best lists of a synthetic decoder; `words` gives
both their words. `english` writes outputs of a language model, in English.
"""
