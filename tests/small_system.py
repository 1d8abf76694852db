"""What a small system of the synthetic pair is trained and tested on, as lines of a configuration.

The references of the test set follow.
"""

SMALL_SYSTEM = """\
[corpus]
source = "corpus/train.source.txt"
target = "corpus/train.refs.0.txt"
[alignment]
method = "model1"
[lm]
order = 3
[tune]
source = "corpus/tune.source.txt"
refs = "corpus/tune.refs.0.txt"
[test]
source = "corpus/test.source.txt"
"""
