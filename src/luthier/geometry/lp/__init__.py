"""Small linear programmes, and the proofs that they give."""
