"""Parallel text → word links. Read first: links, then bitext, base, methods/, symmetrize, agreement."""
