"""Text → tokens → ids.

Read `texts` first (columns of text and of token ids), then `vocab` (numbers for texts) and `lines` (plain sentence
files). `tokenizers` and `tercom` are sacrebleu's; `punctuation` and `utf8` look whether a text is what it seems.
"""
