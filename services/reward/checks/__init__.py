"""Checks of graders against labelled sets: rows that reward services claim, grade and settle."""
