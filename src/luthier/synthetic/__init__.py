"""Languages, parallel text and K-best lists made up here: for the demonstration, tests and benchmarks.

`pair` writes parallel text of two invented languages, `lists` the K-best lists of an invented decoder; `words`
gives both their words.
"""
