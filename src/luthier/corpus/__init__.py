"""Text → tokens → ids.

Read `texts` first (columns of text and of token ids), then `vocab` (numbers for texts) and `lines` (plain sentence
files). `tokenizers` has those of sacrebleu, and tells whether a text looks tokenised.
"""
