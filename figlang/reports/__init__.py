"""Show evaluations to people: tables in the terminal, and one page with tables and figures."""
