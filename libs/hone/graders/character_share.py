"""The share of wanted characters among the counted characters of an output."""

from typing import Literal

from pydantic import Field

from hone.graders.contract import Grader, GraderParams, NoAnswer, Result, Status
from hone.graders.sample import Item


class CharacterShareParams(GraderParams):
    """The characters that are counted, and the wanted ones among them."""

    type: Literal["character_share"] = Field(description="Name of the grader.")
    wanted: str = Field(min_length=1, description="Wanted characters: each raises the score.", examples=["aeiou"])
    among: str = Field(min_length=1, description="Counted characters, including all wanted characters.",
                       examples=["abcdefghijklmnopqrstuvwxyz"])


def grade(item: Item, output_text: str, params: CharacterShareParams) -> Result:  # noqa: ARG001
    """Score wanted / counted. Raises NoAnswer for an output without a counted character."""
    counted = [character for character in output_text if character in params.among]
    if not counted:
        raise NoAnswer(f"none of the characters {params.among} in the output")
    wanted = sum(character in params.wanted for character in counted)
    return Result(Status.OK, wanted / len(counted), extracted="".join(counted), decided_by="character-share")


GRADER = Grader(CharacterShareParams, grade)
