"""Tasks: what each benchmark asks, one folder for each, and what tasks have in common."""
