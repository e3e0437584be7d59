"""The share of an output's characters that are wanted ones, among those that count."""

from typing import Literal

from pydantic import Field

from hone.graders.contract import Grader, GraderParams, Item
from hone.graders.results import NoAnswer, Result, Status


class CharacterShareParams(GraderParams):
    """Which characters count, and which of them are wanted."""

    type: Literal["character_share"] = Field(description="Name of the grader.")
    wanted: str = Field(min_length=1, description="Characters that raise the score.")
    among: str = Field(min_length=1, description="Characters that count, the wanted ones included.")


def grade(item: Item, output_text: str, params: CharacterShareParams) -> Result:  # noqa: ARG001
    """Score wanted / counted; no answer when no character counts."""
    counted = [character for character in output_text if character in params.among]
    if not counted:
        raise NoAnswer(f"none of the characters {params.among} in the output")
    wanted = sum(character in params.wanted for character in counted)
    return Result(Status.OK, wanted / len(counted), extracted="".join(counted), decided_by="character-share")


GRADER = Grader(CharacterShareParams, grade)
