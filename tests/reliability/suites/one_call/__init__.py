"""Disturb one tool call at each of its system calls, and compute the states that may follow.

scenarios.py has the states and the calls, model.py the allowed files and answers, and workspace_check.py compares a
workspace with them. traced.py disturbs a real process through strace, simulated.py does the same in this process.
"""
