"""What makes a CPU faster, in training and in float32 products."""
