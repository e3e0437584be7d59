"""Prompts to models about a memory: texts, in which names in braces are filled in. Worded anew: ours."""

from dataclasses import dataclass

WRITE = """Below is what you know of the user, and the newest messages. Write down what to remember as one JSON object \
of names and values. A name that is there already is overwritten.

Known:
{known}

Messages:
{messages}
"""
EDIT = """Below are facts of the user that are known already, by number, and messages that you will not see again. Say \
how the facts change, as one JSON object: {"add": [new facts], "update": {number: the fact as it is now}, "delete": \
[numbers of facts that no longer hold]}. Leave out what does not change.

Facts:
{known}

Messages:
{messages}
"""
WRITE_SECTION = f"""What to remember:
{{remember}}

{WRITE}"""
REMEMBER = """1. What the user likes and dislikes.
2. Personal details: names, relations, dates that matter.
3. Plans and intentions.
4. Habits in daily life, travel and free time.
5. Health.
6. Work.
7. Anything else that the user says of itself."""
EVOLVE = """Below is the section "what to remember" of an instruction for writing down what a user says, and how well \
questions of the user could be answered by what was written. Rewrite the section, so that later ones can be answered.

What to remember:
{remember}

Feedback:
{feedback}

Answer with one JSON object: {"remember": the new section}
"""
MOST_SECTION = 4000
"""Characters of a section that a model rewrote. What is longer is cut: ours."""
KNOWN = """What you know of the user, oldest first:
{known}
"""


@dataclass(frozen=True)
class Texts:
    """Question to a model: for a write (None: the text of the kind), and for a new section, which begins as given."""

    write: str | None = None
    evolve: str = EVOLVE
    remember: str = REMEMBER
