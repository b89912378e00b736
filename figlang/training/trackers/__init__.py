"""Programs that show trainings side by side. Each file has the same functions `start` and `finish`."""
