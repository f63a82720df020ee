"""The catalog of agents, skills, vocabulary and capability maps: the shipped one and a project's additions."""
