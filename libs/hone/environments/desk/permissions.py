"""Forbidden actions of an agent at a desk, and the way round that each refusal names.

The source breaks permissions as one kind of perturbation and does not say how they answer. These are ours: a refusal
names the permission and who may do what instead, so that an agent who reads it can still serve its user, or report.
"""

from collections.abc import Mapping
from typing import Literal

Permission = Literal["send_mail", "change_calendar", "change_notes", "merge_contacts"]
REFUSALS: Mapping[Permission, str] = {
    "send_mail": "no permission to send mail from here; the owner sends what lies in the drafts",
    "change_calendar": "no permission to change the calendar, which is read-only; its owner changes it by notes with "
                       "the title 'Calendar: TITLE OF THE EVENT' that name start and end in UTC, as 2026-01-31T09:00",
    "change_notes": "no permission to write or delete notes; what should be noted goes into a file "
                    "/notes/TITLE OF THE NOTE.txt",
    "merge_contacts": "no permission to merge contacts; they can be updated and deleted one by one",
}
