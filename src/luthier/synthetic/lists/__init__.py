"""K-best lists of a synthetic decoder: a seeded noisy channel.

Read `noisy_channel` first, then `language` (words and how they are mistaken) and `sentence` (one list). `planted` has
lists with derivations, in which a feature counts by a shape that is no line.
"""
