"""What a person sees of evaluations: tables in the terminal, and one page with tables and figures."""
