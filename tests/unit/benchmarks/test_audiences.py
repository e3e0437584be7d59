"""The synthetic merchants: the relations between the branches that the method's spec requires, on two seeds."""

from benchmarks.methods.audiences import VARIANTS, run


def test_the_required_relations_hold() -> None:
    seeds = range(2)
    means = {variant: sum(run(variant, seed).figures["GSE %"] for seed in seeds) / len(seeds)
             for variant in VARIANTS if "rules" not in variant}
    assert means["anchored, drivers"] <= 0.6 * means["reasoner"]
    assert means["boosting, drivers"] <= 0.5 * means["boosting"]
    assert means["fused, drivers"] <= min(means["anchored, drivers"], means["boosting, drivers"])
