"""Settings of the value service."""

from pathlib import Path
from typing import Literal

from pydantic import Field

from hone.spec.parameters import Strict


class ValueSettings(Strict):
    """How the value service predicts success (docs/value.md)."""

    embedder: Literal["auto", "hashed", "minilm", "openai"] = Field(
        "auto", description="What turns prompts into vectors: hashed needs no model, minilm is a sentence encoder of "
        "the extra value, openai an endpoint; auto is minilm where it is installed, else hashed.")
    embeddings_url: str = Field(
        "", description="OpenAI-compatible URL with /embeddings, such as http://host:8000/v1; for openai only.")
    embeddings_model: str = Field("", description="Name of the endpoint's model.")
    embeddings_key: str = Field("", description="API key of the endpoint.")
    model: Path | None = Field(
        None, description="Value model that `hone value train` made for this embedder; without it the shipped one.")
    head: Literal["ridge", "knn", "tabpfn"] = Field(
        "ridge", description="What is fitted to a policy's outcomes; tabpfn needs the package of that name.")
    clusters: int = Field(
        0, ge=0, le=256, description="Prompts to which the outcomes that a policy is known by are denoised: one stands "
        "for each cluster of like prompts, with their mean outcome. V0's option is 128; 0: none.")
