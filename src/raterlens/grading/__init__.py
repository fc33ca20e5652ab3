"""Decisions about students: who has which grade, how sure that is, and what to mark again."""
