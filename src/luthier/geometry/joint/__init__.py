"""Selections of all lists at once: the best that one vector can make, and the nearest good one."""
