"""A scripted model on loopback, which speaks Anthropic Messages, OpenAI Responses and OpenAI Chat Completions."""
