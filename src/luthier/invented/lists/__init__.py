"""K-best lists of an invented decoder: a seeded noisy channel.

Read `generator` first, then `language` (words and how they are mistaken) and `sentence` (one list).
"""
