"""Brief an agent on one task: compose its text, and decide whether to resume an earlier agent."""
