"""The second door: a page of this machine that shows what the other rooms compute; no arithmetic of its own.

Read `session` first (what is open: lists, metric, named weights), then `asked` (requests, checked) and a file of
`answers/` (one for each view), `replies` (how numbers travel). `following` reads files of states
that grow, `trace_lines` their lines. `guard` says who may ask, `app` leads requests to
answers, `server` listens. `page/` has the page itself, `page_files` the table by which it is served, and
`report_file` writes it into one file, with recorded answers in place of a server.
"""
