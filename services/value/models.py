"""The value model of this process: the one of the settings, or the shipped one of its embedder, if there is one."""

from importlib.resources import as_file, files

from hone.algorithms.value import model
from hone.algorithms.value.model import NoValueModel, ValueModel
from hone.spec.problems import Invalid, Problem
from hone.spec.value_settings import ValueSettings


def chosen(settings: ValueSettings, embedder: str) -> ValueModel:
    """Return the model. Without one the embedder's vectors are the features. Raises Invalid."""
    if settings.model is None:
        shipped = files("hone.algorithms.value").joinpath("shipped", f"{embedder}.safetensors")
        if not shipped.is_file():
            return ValueModel(embedder)
        with as_file(shipped) as path:
            return model.load(path)
    try:
        found = model.load(settings.model)
    except NoValueModel as error:
        raise Invalid([Problem("HONE_VALUE_MODEL", str(settings.model), str(error))]) from error
    if found.embedder != embedder:
        raise Invalid([Problem("HONE_VALUE_MODEL", f"a model for {found.embedder}", f"one for {embedder}")])
    return found
