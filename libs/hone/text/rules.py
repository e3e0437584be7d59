"""A run's own rules for rendering conversations, the same in every process."""

from datetime import date as Date
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator


class TextRules(BaseModel):
    """How conversations become text for a model, where the model's files leave it open."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    date: str | None = Field(
        None, description="Date that a template writes, as 2026-01-31; null: the day on which the run is made, kept "
        "with the run.")
    template: dict[str, Any] = Field(
        default_factory=dict, description="Variables of the chat template, for instance enable_thinking: false.")
    control_tokens: bool = Field(
        False, description="Read control tokens that prompts, rows and tools spell, such as <|im_end|>; false: they "
        "are ordinary text.")

    def for_others(self) -> "TextRules":
        """Return the rules for models beside the policy: the variables are those of the policy's template."""
        return self.model_copy(update={"template": {}})

    @field_validator("date")
    @classmethod
    def _a_date(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                Date.fromisoformat(value)
            except ValueError:
                raise ValueError("expected a date such as 2026-01-31") from None
        return value
