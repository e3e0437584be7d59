"""Every metric of a run in words: groups in the order of a step, named after the slot that their metrics tell of.

A name may have fields: `eval/{series}` is every name that has something in the field's place, and the words may repeat
what. `metric_catalog` looks names up; docs/metrics.md shows the table.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple


class Metric(NamedTuple):
    """One metric in words; without a unit: a reward, a ratio, a factor."""

    title: str
    unit: str
    meaning: str


@dataclass(frozen=True)
class MetricGroup:
    """Metrics that are read together, and the slots whose fillings they tell of."""

    title: str
    slots: tuple[str, ...]
    metrics: Mapping[str, Metric]


REWARD = MetricGroup("Reward and evaluation", (), {
    "reward/mean": Metric("Mean reward", "", "Mean score of the step's samples, before rewards are processed."),
    "reward/masked": Metric("Masked samples", "samples", "Samples without a score through a fault of ours."),
    "eval/{series}": Metric(
        "Held-out accuracy, {series}", "", "Mean score of held-out tasks, one {series} answer each."),
    "eval/masked": Metric(
        "Masked held-out samples", "samples", "Held-out answers without a score: ungraded, or given up."),
})

ROLLOUTS = MetricGroup("Rollouts", ("allocation",), {
    "completion/mean_tokens": Metric("Mean answer", "tokens", "Mean length of the step's samples, all turns together."),
    "completion/max_tokens": Metric("Longest answer", "tokens", "Length of the step's longest sample."),
    "completion/tokens": Metric("Sampled tokens", "tokens", "Tokens of all samples of the step."),
    "completion/truncated": Metric("Truncated answers", "share", "Samples that were cut off at the token limit."),
    "staleness/mean": Metric(
        "Mean staleness", "versions",
        "How many versions the step's groups lie behind the one in training, on average."),
    "staleness/max": Metric("Largest staleness", "versions", "The same of the step's oldest group."),
    "groups/expired": Metric(
        "Expired groups", "groups", "Groups given up so far: not ready in time, or too stale to train on."),
    "gap/mean": Metric(
        "Trainer-sampler gap", "nats a token",
        "Mean difference between the trainer's and the engine's log-probability of the same token."),
    "gap/max": Metric("Largest gap", "nats", "The same difference of the token where it is largest."),
    "gap/probe_mean": Metric(
        "Gap on the probe", "nats a token",
        "The same difference on the probe, of the version served as the step is planned; of the worst engine."),
    "gap/probe_max": Metric("Largest gap on the probe", "nats", "That of the probe's token where it is largest."),
})

FILTER = MetricGroup("Filter", ("filter",), {
    "filtered_groups": Metric("Filtered groups", "groups", "Groups that the filter left out of the step."),
    "flat_share": Metric("Groups without signal", "share", "Groups looked at whose samples all earned the same."),
    "length_share": Metric(
        "Groups outside the band", "share", "Groups with signal that were left out for their length."),
    "keep_rate": Metric("Keep rate", "share", "Running share of groups that pass the filter."),
})

PROCESSING = MetricGroup("Reward processing", ("reward",), {
    "rejected_rewards": Metric("Rejected rewards", "samples", "Samples whose score is no finite number."),
    "overlong_samples": Metric("Overlong samples", "samples", "Samples whose length costs them some of their reward."),
    "masked_samples": Metric(
        "Samples left out", "samples",
        "Samples that the step leaves out: without reward, or cut off where that counts."),
    "rejected_rows": Metric(
        "Rejected samples", "samples", "Samples left out because a reward or log-probability is no finite number."),
})

ADVANTAGE = MetricGroup("Advantage", ("advantage",), {
    "trajectories": Metric("Trajectories", "trajectories", "Samples for which the step estimates advantages."),
    "advantage/groups": Metric("Groups", "groups", "Groups within which samples are compared."),
    "advantage/zero_share": Metric(
        "Zero advantages", "share", "Trajectories whose advantages are all exactly 0: they teach nothing."),
    "advantage/zero_variance_groups": Metric(
        "Groups without variance", "groups", "Groups of several samples that all earned the same."),
    "advantage/single_sample_groups": Metric("Groups of one", "groups", "Groups with one valid sample, alone."),
    "skipped_groups": Metric("Skipped groups", "groups", "Groups not computed, for no token of theirs has a gradient."),
    "skipped_trajectories": Metric(
        "Skipped trajectories", "trajectories", "Samples not computed, for no token of theirs has a gradient."),
    "advantage/baseline": Metric("Baseline", "", "What is taken off each reward: the running mean of earlier ones."),
    "advantage/weights_without_reward": Metric(
        "Weights without reward", "weights", "Weights in the spec that name a reward which no sample has."),
    "advantage/single_anchor_fraction": Metric(
        "Situations seen once", "share",
        "Situations that a single turn was in, so that it has nothing to compare with."),
    "advantage/outcome": Metric("Mean outcome", "", "Mean reward at the end of a trajectory."),
    "advantage/turn_reward": Metric("Mean reward of a turn", "", "Mean of what turns are paid on their way."),
    "advantage/rule/{rule}": Metric("Turn rule: {rule}", "", "Mean of what the rule {rule} gives a turn, unweighted."),
    "advantage/w_turn": Metric("Weight of the turn", "", "Weight of the turn's own advantage beside the session's."),
    "advantage/conversion_alarm": Metric(
        "Conversion alarm", "", "1 when outcomes fell since the first step while turns were paid more."),
    "advantage/session_abs": Metric(
        "Size of the session's part", "", "Mean size of the session's advantage of a token."),
    "advantage/turn_abs": Metric("Size of the turn's part", "", "Mean size of the turn's advantage of a token."),
    "advantage/mean_return": Metric("Mean return", "", "Mean reward still to come at a token, before it is whitened."),
    "advantage/full_reward": Metric("Reward of the full track", "", "Mean reward of execution and format together."),
    "advantage/schema_reward": Metric("Reward of the schema track", "", "Mean reward of the proposed schemas."),
    "advantage/dropped_readings": Metric("Dropped readings", "readings", "Readings of a memory that have no reward."),
    "advantage/combined_reward": Metric("Combined reward", "", "Mean reward of a memory's readings, weighted by task."),
    "advantage/ndcg": Metric("Quality of the order", "", "How well retrieved skills are ordered (mean NDCG); 1: best."),
    "advantage/perfect_ranks": Metric("Perfect orders", "samples", "Samples whose order of skills cannot be better."),
    "advantage/rank_baseline": Metric(
        "Baseline of the order", "", "What is taken off the order's reward: its running mean."),
    "advantage/deliberate_groups": Metric(
        "Groups of deliberations", "groups", "Groups within which deliberations are compared."),
    "advantage/deliberate_zero_variance_groups": Metric(
        "Deliberations without variance", "groups", "Groups whose deliberations all earned the same."),
    "advantage/deliberate_reward": Metric("Reward of deliberations", "", "Mean reward of a deliberation."),
    "advantage/attempt_groups": Metric("Groups of attempts", "groups", "Groups within which attempts are compared."),
    "advantage/attempt_zero_variance_groups": Metric(
        "Attempts without variance", "groups", "Groups whose attempts all earned the same."),
    "advantage/attempt_reward": Metric("Reward of attempts", "", "Mean reward of an attempt."),
    "advantage/pairs": Metric("Pairs", "pairs", "Pairs of a preferred and another answer."),
    "advantage/unpaired": Metric("Answers without a pair", "samples", "Answers that no pair compares."),
    "advantage/pair_loss": Metric("Loss of a pair", "nats", "Mean of how unlikely the policy finds the preference."),
    "advantage/pair_margin": Metric(
        "Margin of a pair", "", "How far the policy favours the preferred answer, on average."),
    "advantage/pair_accuracy": Metric("Ordered pairs", "share", "Pairs whose preferred answer the policy favours too."),
    "advantage/mean": Metric("Mean advantage", "nats", "How much likelier the teacher finds a token, on average."),
    "advantage/min": Metric("Smallest advantage", "nats", "The same of the token that the teacher likes least."),
    "advantage/reinforced_fraction": Metric(
        "Reinforced tokens", "share", "Tokens that are reinforced; on the others the teacher is imitated."),
    "advantage/reinforced_mean": Metric("Mean of the reinforced", "nats", "Mean advantage of reinforced tokens."),
    "advantage/gap_min": Metric("Smallest teacher gap", "nats", "Smallest log-ratio of teacher to policy at a token."),
    "advantage/correct_fraction": Metric(
        "Correct trajectories", "share", "Samples that are right: they teach themselves."),
    "advantage/student_weight_max": Metric("Largest own weight", "", "Largest weight of a trajectory that is right."),
    "advantage/teacher_weight_max": Metric(
        "Largest taught weight", "", "Largest weight of a trajectory that is wrong."),
    "advantage/effective_set_size": Metric(
        "Effective set", "trajectories",
        "As how many equally weighted samples the right or the wrong of a group count."),
    "advantage/rejected_rows": Metric(
        "Samples left out", "samples", "Samples that have a part of their reward infinite."),
    "advantage/missing_rewards": Metric(
        "Missing parts", "rewards", "Parts of rewards that count 0, for they are missing."),
    "advantage/smallest_eigenvalue": Metric(
        "Smallest eigenvalue", "", "Of the rewards' covariance; near 0: parts of the reward say the same."),
    "advantage/negative_weights": Metric(
        "Negative weights", "weights", "Parts of the reward that decorrelation counts against themselves."),
    "advantage/z_rms_{part}": Metric("Spread of {part}", "", "Root mean square of the scores of {part}."),
    "advantage/degenerate_{part}": Metric(
        "Flat groups of {part}", "share", "Groups whose samples all have the same {part}."),
    "advantage/d_ref_{part}": Metric(
        "Reference range of {part}", "", "Range of {part} in a group that counts in full."),
    "advantage/effective_weight_{part}": Metric(
        "Weight of {part}", "", "Smallest weight of {part} after decorrelation."),
    "advantage/correlation_before_{pair}": Metric(
        "Correlation before, {pair}", "", "Correlation of these two parts of the reward as they came."),
    "advantage/correlation_after_{pair}": Metric(
        "Correlation after, {pair}", "", "Correlation of these two parts of the reward after decorrelation."),
    "advantage/correlation_advantage_{part}": Metric(
        "Correlation with {part}", "", "Correlation of the advantage with {part}."),
})

MODULATION = MetricGroup("Modulation", ("modulation",), {
    "modulation/compensation_mean": Metric("Mean gain", "", "Mean factor that confident tokens of good samples gain."),
    "modulation/stabilisation_mean": Metric(
        "Mean damping", "", "Mean factor that holds back tokens which would swing the entropy."),
    "modulation/swing_mean": Metric("Mean swing", "nats", "How much a token would change the entropy, on average."),
    "modulation/swing_max": Metric("Largest swing", "nats", "The same of the token where it is largest."),
    "modulation/gate": Metric("Mean gate", "share", "How far the teacher's endorsement opens the gate, on average."),
    "modulation/share": Metric(
        "Teacher's share", "share", "How much of the advantage's factor the teacher decides now."),
    "modulation/factor": Metric("Mean factor", "", "Mean factor on an advantage; 1: as estimated."),
    "modulation/factor_max": Metric("Largest factor", "", "Largest factor on an advantage; 1: as estimated."),
})

CORRECTION = MetricGroup("Correction", ("correction",), {
    "correction/weight_mean": Metric(
        "Mean weight", "", "Mean weight of a token for who sampled it; 1: the very policy in training."),
    "correction/weight_max": Metric("Largest weight", "", "The same of the token where it is largest."),
    "correction/truncated_fraction": Metric("Truncated weights", "share", "Tokens whose weight was cut to the cap."),
    "correction/popped_fraction": Metric("Popped tokens", "share", "Tokens left out, for their ratio is not trusted."),
    "correction/masked_fraction": Metric(
        "Masked tokens", "share", "Tokens left out with a trajectory that drifted too far."),
})

LOSS = MetricGroup("Policy loss", ("loss", "aggregation"), {
    "loss": Metric("Loss", "", "All terms together. Its gradient trains the policy; its size says little."),
    "entropy": Metric("Entropy", "nats a token", "How open the policy's choice of a token was, on average."),
    "loss/term": Metric("Policy loss", "", "This term's part of the step's loss, weights of tokens included."),
    "loss/ratio_mean": Metric("Mean ratio", "", "Probability of a token now, over that before the step, on average."),
    "loss/ratio_p05": Metric("Ratio, 5th percentile", "", "Tokens of a smaller ratio of new to old policy: one in 20."),
    "loss/ratio_p50": Metric("Ratio, median", "", "Half of all tokens have a smaller ratio of new to old policy."),
    "loss/ratio_p95": Metric("Ratio, 95th percentile", "", "Tokens of a larger ratio of new to old policy: one in 20."),
    "loss/ratio_max": Metric("Largest ratio", "", "Largest ratio of new to old policy at a token."),
    "loss/clip_fraction": Metric("Clipped tokens", "share", "Tokens whose gradient is stopped, for they moved enough."),
    "loss/bounded_fraction": Metric("Bounded tokens", "share", "Tokens whose weight was moved to a bound."),
    "loss/gate_mean": Metric("Mean gate", "share", "How much of its gradient a token keeps, on average."),
    "loss/gate_positive": Metric("Gate of rising tokens", "share", "Mean gate of good tokens that became likelier."),
    "loss/gate_negative": Metric("Gate of falling tokens", "share", "Mean gate of bad tokens that became less likely."),
    "loss/damped_fraction": Metric("Damped tokens", "share", "Tokens that keep less than half of their gradient."),
    "loss/width_mean": Metric("Mean width", "", "Mean width of the trust region around a ratio of 1."),
    "loss/widest_fraction": Metric("Widest regions", "share", "Tokens whose trust region is as wide as it may be."),
    "loss/teacher_distance": Metric(
        "Distance to the teacher", "nats a token", "How far the policy is from the teacher it follows, on average."),
    "loss/stopped_fraction": Metric(
        "Stopped tokens", "share", "Tokens so far from the teacher that their distance has no gradient."),
    "span/{name}": Metric("Tokens of {name}", "share", "Trained tokens inside spans that the harness names {name}."),
    "trained_tokens": Metric("Trained tokens", "tokens", "Tokens that enter the loss."),
    "trained/mask_share": Metric(
        "Untrained tokens", "share", "Tokens of answers that train nothing, such as those of masked turns."),
})

REGULARIZERS = MetricGroup("Regularizers", ("regularizers",), {
    "regularizers/{name}.{place}/term": Metric(
        "Regularizer's loss ({name})", "", "This term's part of the step's loss, coefficient included."),
    "regularizers/kl.{place}/mean": Metric(
        "Distance to the reference", "nats a token", "Estimated KL between the policy and where it began, on average."),
    "regularizers/entropy.{place}/mean": Metric(
        "Rewarded entropy", "nats a token", "Mean entropy that the bonus rewards; its factor is not in it."),
    "regularizers/local_divergence.{place}/mean": Metric(
        "Distance to the teacher", "nats a token", "Mean divergence on the teacher's likeliest tokens, by its factor."),
    "regularizers/local_divergence.{place}/imitated_fraction": Metric(
        "Imitated tokens", "share", "Tokens on which the policy is to imitate the teacher."),
    "regularizers/context_distillation.{place}/mean": Metric(
        "Distance to the informed policy", "nats a token",
        "Mean divergence from itself with a hidden text, by its factor."),
    "regularizers/context_distillation.{place}/imitated_fraction": Metric(
        "Imitated tokens", "share", "Tokens that the policy with the hidden text has a word on."),
    "regularizers/sdar.{place}/gate": Metric("Mean gate", "share", "How far endorsements open the gate, on average."),
    "regularizers/sdar.{place}/endorsed_fraction": Metric(
        "Endorsed tokens", "share", "Tokens whose gate is more than half open."),
    "regularizers/sdar.{place}/gap": Metric("Teacher gap", "nats a token", "Mean log-ratio of teacher to policy."),
    "regularizers/sdar.{place}/known_fraction": Metric(
        "Judged tokens", "share", "Tokens that the teacher has a word on."),
})

CRITIC = MetricGroup("Critic", (), {
    "critic/loss": Metric("Critic's loss", "", "Mean clipped squared error of the critic's values, halved."),
    "critic/return_mean": Metric("Mean return", "", "Mean reward still to come at a token: what the critic learns."),
    "critic/value_mean": Metric("Mean value", "", "Reward that the critic expects at a token, on average."),
    "critic/explained_variance": Metric(
        "Explained variance", "share",
        "How much of the returns' variance the critic foresaw; below 0: worse than none."),
    "critic/clip_fraction": Metric("Held values", "share", "Tokens whose value moved enough, so that it stops there."),
    "critic/grad_norm": Metric("Critic's gradient norm", "", "Norm of the critic's gradient before it is clipped."),
})

OPTIMIZER = MetricGroup("Optimizer and schedule", ("schedule", "batch_size"), {
    "batch/prompts": Metric("Groups asked for", "groups", "Groups that the step is to have, by the run's batch sizes."),
    "lr": Metric("Learning rate", "", "Rate at which the step's gradient was applied."),
    "grad_norm": Metric("Gradient norm", "", "Norm of the gradient before it is clipped."),
})

VERIFICATION = MetricGroup("Verification", ("builder",), {
    "verify/verdict_accuracy": Metric("Right verdicts", "share", "Verdicts on the run's own answers that are right."),
    "verify/unparsable_verdicts": Metric("Unreadable verdicts", "share", "Answers of a judge that hold no verdict."),
    "verify/items": Metric("Answers to judge", "items", "Answers of the batch that were chosen to be judged."),
    "verify/buffered_items": Metric("Waiting answers", "items", "Answers to be judged in a later step."),
    "verify/duplicate_share": Metric("Repeated answers", "share", "Answers to judge that are there more than once."),
    "verify/mostly_duplicates": Metric(
        "Mostly repeated", "", "1 when so many are repeated that judging teaches little."),
    "verify/{metric}": Metric("{title}", "{unit}", "Of verification steps: {meaning}"),
})

WORK = MetricGroup("Time and storage", (), {
    "trainer/idle_s": Metric("Trainer idle", "s", "How long the trainer had nothing to do before the step."),
    "engine/idle_s": Metric(
        "Engines idle", "s", "How long an engine was in no step for the model since the plan before, on average."),
    "trainer/forward_backward_s": Metric(
        "Forward and backward", "s", "Time to read the step's samples and to compute its gradient."),
    "trainer/optim_step_s": Metric("Optimizer step", "s", "Time to clip and apply the gradient."),
    "trainer/save_s": Metric("Save", "s", "Time to number the version; its weights are stored after it."),
    "trainer/{operation}_s": Metric("{operation}", "s", "Time of the trainer's operation {operation}."),
    "storage/read_s": Metric(
        "Reading", "s", "Time to read the step's plan and samples, a part of forward and backward."),
    "forward_tokens": Metric(
        "Computed tokens", "tokens", "Tokens that went through the model; what rows of a group begin with alike once."),
})

OTHER = MetricGroup("Other", (), {})
"""What no other group knows."""

GROUPS: tuple[MetricGroup, ...] = (
    REWARD, ROLLOUTS, FILTER, PROCESSING, ADVANTAGE, MODULATION, CORRECTION, LOSS, REGULARIZERS, CRITIC, OPTIMIZER,
    VERIFICATION, WORK,
)
"""In the order of a step."""
