"""Run folders: predictions and metrics files, and finished runs read back."""
