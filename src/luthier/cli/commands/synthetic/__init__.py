"""K-best lists and a language pair made by rule, to try things on."""
