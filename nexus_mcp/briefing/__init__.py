"""Brief agents: compose the text of a task, describe the progress, and decide whether to resume an earlier agent."""
