"""The notes of a project: .nexus/memory/, .nexus/context/ and .nexus/rules/, what is in them and how they are kept."""
