"""Answers to requests, a file for each view of the page: a session and what is asked in, a reply out."""
