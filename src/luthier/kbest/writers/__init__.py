"""One file per list format; the file's name is the format's name (see `luthier.kbest.storage.writer`)."""
