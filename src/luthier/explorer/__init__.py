"""The second door: a page on this machine that shows what the other rooms compute; no arithmetic of its own.

Read `sessions/` first (what is open), `endpoints/` (a file for each request of the page), then `app` (from addresses to
endpoints), `middleware` (who may send requests) and `server`. `page/` has the page itself; `report_file` writes it
into one file, with recorded responses in place of a server.
"""
