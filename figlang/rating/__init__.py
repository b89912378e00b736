"""Answers in free text: rated by people, and what their ratings say."""
