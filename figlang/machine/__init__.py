"""This process and its machine: threads, devices, memory, time limits, the terminal."""
