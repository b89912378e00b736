"""MiQA: its grid of prompts, and the table of the paper (Comșa et al. 2022)."""
