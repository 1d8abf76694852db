"""Arrays → envelopes, error surfaces, polytopes, fans; knows no word of translation."""
