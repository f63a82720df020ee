"""The agents, the skills and the words around them: what is shipped, and what a project adds to it."""
