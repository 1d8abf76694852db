"""Options that several commands share, and what they come to.

`fields` makes options of declared parameters, `lists` reads pools and lists, `weights` has metrics and weights,
`landscape` axes and pictures, `cluster` where work is done.
"""
