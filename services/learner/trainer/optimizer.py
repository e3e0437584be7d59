"""AdamW over the trained parameters of a model, on each rank for its part. It resumes exactly from a snapshot."""

from collections.abc import Mapping

import torch
from torch import nn

from hone.models.ranks import Ranks
from hone.spec.run import OptimizerSpec
from services.learner.trainer.snapshot import MOMENTS, Trained


class Optimizer:
    """The moments of named parameters and the number of their updates. Gradients are on the parameters themselves."""

    def __init__(
        self, parameters: Mapping[str, nn.Parameter], spec: OptimizerSpec, ranks: Ranks, trained: Trained,
    ) -> None:
        """Resume from `trained`, with gradients that are not yet applied. `parameters` have its weights already."""
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
        """Clip the gradient to `norm` and return the norm that it had before.

        A parameter without gradient gets a gradient of zeros.
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
        """Forget the moments and the number of updates. Parameters and their gradients stay."""
        self._adamw.state.clear()
        self.updates = 0

    def trained(self) -> Trained:
        """Return the current weights, moments and gradients, whole, on rank 0."""
        parameters, whole = self._parameters, self._ranks.whole
        moments = {kind: whole({name: self._adamw.state[each][kind] for name, each in parameters.items()})
                   for kind in MOMENTS} if self.updates else {}
        gradients = {name: each.grad for name, each in parameters.items() if each.grad is not None}
        return Trained(whole(parameters), self.updates, moments, whole(gradients))


def _adamw(parameters: Mapping[str, nn.Parameter], spec: OptimizerSpec) -> torch.optim.AdamW:
    """Return AdamW with weight decay on matrices, and none on norms and biases."""
    matrices = [parameter for parameter in parameters.values() if parameter.dim() > 1]
    vectors = [parameter for parameter in parameters.values() if parameter.dim() == 1]
    groups = [{"params": matrices, "weight_decay": spec.weight_decay}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=spec.lr, betas=(spec.beta1, spec.beta2), eps=spec.eps, fused=True)
