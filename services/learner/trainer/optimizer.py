"""AdamW over what is trained of a model, each rank's part of it; it goes on exactly from what a snapshot keeps."""

from collections.abc import Mapping

import torch
from torch import nn

from hone.models.ranks import Ranks
from hone.spec.run import OptimizerSpec
from services.learner.trainer.snapshot import MOMENTS, Trained


class Optimizer:
    """Holds the moments of named parameters, and counts their updates; the gradients are the parameters' own."""

    def __init__(
        self, parameters: Mapping[str, nn.Parameter], spec: OptimizerSpec, ranks: Ranks, trained: Trained,
    ) -> None:
        """Stand where `trained` was taken, gradients in hand included; its weights lie in `parameters` already."""
        self._parameters, self._ranks, self.updates = parameters, ranks, trained.updates
        self._adamw = _adamw(parameters, spec)
        for name, parameter in parameters.items():
            if name in trained.gradients:
                parameter.grad = ranks.spread(trained.gradients[name], parameter)
            if trained.updates:
                self._adamw.state[parameter] = {
                    "step": torch.tensor(float(trained.updates), device=ranks.device),
                    **{kind: ranks.spread(trained.moments[kind][name], parameter) for kind in MOMENTS}}

    def clip(self, norm: float) -> float:
        """Scale the gradient down to `norm` where it is larger and return the norm that it had.

        A parameter without gradient gets a zero one.
        """
        parameters = list(self._parameters.values())
        for parameter in parameters:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        found = self._ranks.single(torch.nn.utils.get_total_norm(gradients))
        torch.nn.utils.clip_grads_with_norm_(parameters, norm, found)
        return float(found)

    def step(self, lr: float) -> None:
        """Apply the gradient at rate `lr` and clear it."""
        for group in self._adamw.param_groups:
            group["lr"] = lr
        self._adamw.step()
        self._adamw.zero_grad(set_to_none=True)
        self.updates += 1

    def restart(self) -> None:
        """Forget the moments and every update: the parameters stay as they are, with the gradient in hand."""
        self._adamw.state.clear()
        self.updates = 0

    def trained(self) -> Trained:
        """Return whole weights, moments and gradients as they are now, on rank 0."""
        parameters, whole = self._parameters, self._ranks.whole
        moments = {kind: whole({name: self._adamw.state[each][kind] for name, each in parameters.items()})
                   for kind in MOMENTS} if self.updates else {}
        gradients = {name: each.grad for name, each in parameters.items() if each.grad is not None}
        return Trained(whole(parameters), self.updates, moments, whole(gradients))


def _adamw(parameters: Mapping[str, nn.Parameter], spec: OptimizerSpec) -> torch.optim.AdamW:
    """Weight decay acts on matrices; norms and biases have none."""
    matrices = [parameter for parameter in parameters.values() if parameter.dim() > 1]
    vectors = [parameter for parameter in parameters.values() if parameter.dim() == 1]
    groups = [{"params": matrices, "weight_decay": spec.weight_decay}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=spec.lr, betas=(spec.beta1, spec.beta2), eps=spec.eps, fused=True)
