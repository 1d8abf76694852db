"""What the tuners that search the gain itself share: directions, line searches, planes, simplices."""
