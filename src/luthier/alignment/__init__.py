"""Word alignment: parallel text → links between words.

Read `links` (what an alignment is), `bitext` and `cells` (the text as numbers), `base` with `methods/` (how an
aligner learns), then `aligner` (both directions at once), `symmetrize`, `summary` (with alignment error rates) and
`model` (kept in a file).
"""
