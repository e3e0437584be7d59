"""The resources of uploaded models and datasets. Times are UTC."""

from datetime import datetime
from typing import Literal

from pydantic import Field, computed_field

from hone.client.resources import Page, Resource, WithFiles


class End(Resource):
    """A token that ends an answer, and the files that say so."""

    id: int
    text: str
    sources: list[str]


class ModelText(Resource):
    """The text rules of a model: how conversations become token ids.

    `lacks` has what its template refuses or drops, with the reason: system messages or tools, say. `bos` is the token
    with which prompts begin. `unused_ids` counts ids that no token has; they are never sampled. `dated`: the template
    writes the date.
    """

    ends: list[End] = Field(default_factory=list)
    templated: bool = False
    dated: bool = False
    lacks: dict[str, str] = Field(default_factory=dict)
    bos: str = ""
    unused_ids: int = 0


class Model(WithFiles):
    """A model that can be asked: a registered one, or a version of a run, with the facts of the model it comes from.

    `parameters` counts weights; `ignored` names files that were not stored. `version_id` and `number` are those of a
    run's version.
    `object`, `created` (in seconds since 1970) and `owned_by` are what OpenAI's clients read.
    """

    id: str
    name: str
    architecture: str
    parameters: int
    dtype: str
    vocab_size: int
    max_positions: int
    text: ModelText = ModelText()
    ignored: list[str] = Field(default_factory=list)
    created_at: datetime
    version_id: str | None = None
    number: int | None = None
    object: Literal["model"] = "model"
    owned_by: str = "hone"

    @computed_field  # type: ignore[prop-decorator]
    @property
    def created(self) -> int:
        return int(self.created_at.timestamp())


class ModelPage(Page[Model]):
    """One page of the list of models, also as OpenAI's clients read it."""

    object: Literal["list"] = "list"
    has_more: bool = False


class Dataset(WithFiles):
    """An uploaded dataset: `columns` counts the rows that have each key; `report` describes the bad rows."""

    id: str
    name: str
    rows: int
    columns: dict[str, int]
    report: "RowReport"
    created_at: datetime


class RowProblem(Resource):
    """One problem of a row. Rows are numbered from 1."""

    row: int
    field: str
    found: str
    expected: str


class KeptNumber(Resource):
    """A number of a row that is kept as its text, because it would be written back with other characters."""

    row: int
    number: str


class RowReport(Resource):
    """The checks of a dataset's rows; `problems` holds the first 100 problems.

    `numbers_as_text` counts the good rows in which a number is kept as its text, `first_as_text` has the first five.
    """

    rows: int
    good: int
    bad: int
    problems: list[RowProblem] = Field(default_factory=list)
    numbers_as_text: int = 0
    first_as_text: list[KeptNumber] = Field(default_factory=list)
