"""What an operation from outside names, looked up: a run that trains the model, a step of it, a version."""

from hone.rpc.errors import InvalidField
from hone.spec.operations import Export, ForwardBackward, Payload, Save
from hone.store.database import Transaction


def check(transaction: Transaction, tenant_id: str, model_id: str, payload: Payload, field: str) -> None:
    """Refuse what the tenant does not have or the model cannot do; `field` is the payload's. Raises InvalidField."""
    owned = {"tenant_id": tenant_id, "model_id": model_id}
    if isinstance(payload, ForwardBackward | Save):
        _check_run(transaction, owned, payload, field)
    if isinstance(payload, Export) and not transaction.one(
            "driver.version_of_model", **owned, version_id=payload.version_id):
        raise InvalidField(f"{field}.version_id", payload.version_id, "the id of a version of this model")


def _check_run(transaction: Transaction, owned: dict[str, str], payload: ForwardBackward | Save, field: str) -> None:
    number = payload.number if isinstance(payload, Save) else None
    run = transaction.one("driver.run_of_model", **owned, run_id=payload.run_id, step=payload.step, number=number)
    if run is None:
        raise InvalidField(f"{field}.run_id", payload.run_id, "the id of a run of yours that trains this model")
    if payload.step is not None and run["step"] is None:
        raise InvalidField(f"{field}.step", payload.step, f"a step of {payload.run_id} that is planned")
    if isinstance(payload, ForwardBackward):
        return
    if run["step"] not in (None, "planned"):
        raise InvalidField(f"{field}.step", payload.step, f"a step that is planned; this one is {run['step']}")
    if run["taken"]:
        raise InvalidField(f"{field}.number", number, "a number that no version of this model has")
