"""One tool call, disturbed at each of its system calls, and what may be found afterwards.

scenarios.py has the states and the calls, model.py says which files and answers may come of them, afterwards.py holds
a workspace against that. traced.py disturbs a real process through strace, played.py plays the same within this one.
"""
