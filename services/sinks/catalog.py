"""Every sink by the kind of its destination."""

from services.sinks.contract import Opener
from services.sinks.mlflow import Mlflow
from services.sinks.tensorboard import TensorBoard
from services.sinks.wandb import Wandb

SINKS: dict[str, Opener] = {"tensorboard": TensorBoard, "mlflow": Mlflow, "wandb": Wandb}
