"""Outputs in English, as a language model writes them from short notes: `lexicon`, then `sentence`, then `outputs`."""
