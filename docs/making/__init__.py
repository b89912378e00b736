"""What makes the site's tables from files: measured and published results, options, presets."""
