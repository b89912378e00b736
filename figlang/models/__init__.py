"""Networks and the ways of training them."""
