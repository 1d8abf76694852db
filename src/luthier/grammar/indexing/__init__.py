"""Parallel text and links → a model to extract from.

Read `index` (where words stand) and `lexicon` (which words are linked how often), then `model` (both, with the links as
spans) and `model_folder` (its folder).
"""
