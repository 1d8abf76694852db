"""K-best lists of an invented decoder: a seeded noisy channel.

Read `synthetic` first, then `language` (words and how they are mistaken) and `sentence` (one list). `planted` has
lists with derivations, in which a feature counts by a shape that is no line.
"""
