"""Answers in free text: sheets for people to rate them, and statistics of the ratings."""
