"""Fig-QA (Liu et al. 2022): paired Winograd-style metaphors."""
