"""RDPO over rows with R[i][k], None where the dimension is not active or the reward is missing; A[i]."""

from statistics import NormalDist
from typing import Any

import numpy as np

Array = np.ndarray
Key = tuple[tuple[int, ...], tuple[int, ...]]
DEFAULTS = {
    "omega": 0.5, "gauss": False, "decay": 0.99, "fixed": {}, "weights": {}, "lam": 0.05, "eps": 1e-3, "rho": 0.0,
    "lam_few": 0.3, "few": 10, "min_rows": 4, "min_groups": 2, "rescale": True,
}


def maq(r: list[float], d_ref: float, omega: float, gauss: bool = False) -> list[float]:
    size, spread = len(r), max(r) - min(r)
    if size < 2 or spread <= 1e-8:
        return [0.0] * size
    u = [(sum(o < x for o in r) + 0.5 * sum(o == x for o in r)) / size for x in r]
    q = [NormalDist().inv_cdf(x) for x in u] if gauss else [2 * x - 1 for x in u]
    middle = sum(q) / size if gauss else 0.0
    mean = sum(r) / size
    m = min(1.0, spread / max(d_ref, 1e-8))
    return [m * ((1 - omega) * (a - middle) + omega * (x - mean) / spread) for a, x in zip(q, r, strict=True)]


def inverse_root(c: Array, lam: float, eps: float) -> Array:
    size = len(c)
    regular = np.zeros((size, size))
    for a in range(size):
        for b in range(size):
            regular[a, b] = c[a, b] if a == b else (1 - lam) * c[a, b]
        regular[a, a] += eps * sum(c[j, j] for j in range(size)) / size
    left, values, _ = np.linalg.svd(regular)
    return sum(np.outer(left[:, j], left[:, j]) / np.sqrt(values[j]) for j in range(size))


def rdpo(
    rewards: list[list[Any]], group: list[int], d_before: dict[int, float] | None = None,
    c_before: dict[Key, Array] | None = None, **settings,
) -> tuple[Array, dict[int, float], dict[Key, Array]]:
    """Return the advantages, the reference ranges, and the covariances by (active set, its live dimensions)."""
    p, n, dims = {**DEFAULTS, **settings}, len(rewards), len(rewards[0])
    rows_of = {g: [i for i in range(n) if group[i] == g] for g in group}
    there = {(g, k): [i for i in rows if rewards[i][k] is not None] for g, rows in rows_of.items() for k in range(dims)}
    spread = {at: max(rewards[i][at[1]] for i in rows) - min(rewards[i][at[1]] for i in rows)
              for at, rows in there.items() if rows}
    alive = {at for at, width in spread.items() if width > 1e-8}
    d_ref = {}
    for k in range(dims):
        widths = [spread[at] for at in alive if at[1] == k]
        d_ref[k] = max(float(np.median(widths)) if widths else 0.0, p["decay"] * (d_before or {}).get(k, 0.0))
    z = np.zeros((n, dims))
    for (_, k), rows in there.items():
        if rows:
            used = p["fixed"].get(k, d_ref[k])
            z[rows, k] = maq([rewards[i][k] for i in rows], used, p["omega"], p["gauss"])
    advantage, covariances = np.zeros(n), dict(c_before or {})
    active = {g: tuple(k for k in range(dims) if there[g, k]) for g in rows_of}
    for wanted in set(active.values()):
        groups = [g for g in rows_of if active[g] == wanted]
        rows = [i for g in groups for i in rows_of[g]]
        live = tuple(k for k in wanted if sum(z[i, k] ** 2 for i in rows) / len(rows) >= 1e-10)
        w = np.array([p["weights"].get(k, 1.0) for k in live])
        if not live:
            continue
        part = z[rows][:, list(live)]
        c = part.T @ part / len(rows)
        if len(live) >= 2 and len(rows) >= p["min_rows"] * len(live) and len(groups) >= p["min_groups"]:
            before = covariances.get((wanted, live))
            c = c if before is None else p["rho"] * before + (1 - p["rho"]) * c
            covariances[wanted, live] = c
            few = len(rows) < p["few"] * len(live)
            root = inverse_root(c, max(p["lam"], p["lam_few"]) if few else p["lam"], p["eps"])
        else:
            root = np.diag([1 / np.sqrt(c[a, a]) for a in range(len(live))])
        for place, i in enumerate(rows):
            advantage[i] = sum(w * (root @ part[place])) / np.sqrt(sum(w**2)) if w.any() else 0.0
    counted = [i for i in range(n) if any((group[i], k) in alive for k in range(dims))]
    scale = np.sqrt(sum(advantage[i] ** 2 for i in counted) / len(counted)) if counted else 0.0
    return advantage / scale if p["rescale"] and scale > 1e-8 else advantage, d_ref, covariances
