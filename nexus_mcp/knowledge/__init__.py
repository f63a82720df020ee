"""The notes of a project: .nexus/memory/, .nexus/context/ and .nexus/rules/, their content and how to store and clean
them up.
"""
