"""Source and hypothesis → a number: scorers that run in this process, a file each, as `luthier score-with` names them.

A file `_scorer` says what a scorer is. Other distributions join by the entry-point group ``luthier.scorers``.
"""
