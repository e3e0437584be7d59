"""Hone: reinforcement learning as a service for language models."""
