"""A result as a picture: a file for each kind of result; `fan_parts` has what the pictures of fans share."""
