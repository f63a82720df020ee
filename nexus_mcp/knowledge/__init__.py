"""List, compare, store and clean up the notes of a project, in .nexus/memory/, .nexus/context/ and .nexus/rules/."""
