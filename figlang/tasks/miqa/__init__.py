"""MiQA (Comșa et al. 2022): inference on literal and metaphorical statements."""
