"""Natural language inference: SNLI, MultiNLI, ANLI and FEVER-NLI."""
