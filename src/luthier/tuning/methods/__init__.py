"""One file per tuner; the file's name is the tuner's name (see `luthier.tuning.base`)."""
