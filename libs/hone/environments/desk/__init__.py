"""A personal desk: files, mail, calendar, contacts and notes, whose last state is graded. STAGE-Claw, arXiv 2606.10394.
"""
