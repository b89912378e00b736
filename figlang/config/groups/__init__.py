"""The groups of options, one file for each: model, method, scoring, prompt and others."""
