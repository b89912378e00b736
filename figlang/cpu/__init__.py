"""What makes a CPU faster, in training and in prediction."""
