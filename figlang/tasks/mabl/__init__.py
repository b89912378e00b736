"""MABL: the question of Fig-QA in seven more languages."""
