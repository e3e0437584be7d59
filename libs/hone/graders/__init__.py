"""The grader contract, Hone's own graders and what they share."""
