"""Analyses of predictions after Liu et al. 2022, §6 and appendices E and F: what makes an item hard, and what a model relies on."""
