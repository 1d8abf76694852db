"""Parallel text of two synthetic languages: learnable, hard, with true word links.

Read `pair` first. `concepts` and `lexicon` are the dictionary, `meaning` and `speaker` what is said, `source` and
`target` the two grammars, with their endings in `forms`.
"""
