"""Hundreds of wrong inputs: each ends in one line that names what is wrong, in time, with nothing lost and no
code run."""
