"""A page on which several people rate: what is asked, in which order, what they answered, and the server."""
