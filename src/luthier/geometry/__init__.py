"""Arrays → envelopes, error surfaces, polytopes, fans, proofs; a folder each. Knows no word of translation."""
