"""What is missing, stale, silent or failing, and the runs that process the backlog.
Pure.

    backlog rows            | run_planner       = runs to start, and work given up
    entries by day, polls   | source_health     = Findings: silent beyond the habit
    SourceState, polls      | source_health     = Findings, and the status as text
    counts, Findings        | report_contents   = contents of the daily report
"""
