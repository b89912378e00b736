"""Programs that show trainings side by side. Each file has the same two functions:

- `start(config, run)` gives Lightning's logger, or None where there is none to give.
- `finish(config, run, content, history)` adds the results of a metrics.json and of the rows of log.csv.
"""
