"""What the tuners that search the gain itself share: directions, steps along lines and over planes, simplices."""
