"""Title, unit and meaning of every metric of a run, in groups in the order of a step.

A group is named after the slot that its metrics describe. A name may have fields: `eval/{series}` is every name with a
text in place of the field, and title and meaning may repeat that text. `metric_catalog` finds the entry of a name;
docs/metrics.md shows the table.
"""

from hone.client.metric_types import Metric, MetricGroup

REWARD = MetricGroup("Reward and evaluation", (), {
    "reward/mean": Metric("Mean reward", "", "Mean score of the step's samples, before rewards are processed."),
    "reward/between": Metric("Rewards in between", "share", "Samples that are neither fully right nor fully wrong."),
    "reward/reasoner_gap": Metric("Reasoner and model", "", "Mean distance of both branches, newest proposals."),
    "reward/masked": Metric("Masked samples", "samples", "Samples without a score because of a fault of the service."),
    "reward/length_correlation": Metric(
        "Reward and length", "", "Correlation of scores with tokens of answers; none where either is constant."),
    "eval/{series}": Metric(
        "Held-out accuracy, {series}", "", "Mean score of held-out tasks, with a {series} answer each."),
    "eval/noise/{type}": Metric("Held-out accuracy under noise: {type}", "", "The same, with noise of this type."),
    "eval/noise/{type}/{component}": Metric("Held-out {component} under noise: {type}", "", "Mean of the component."),
    "eval/{series}/{component}": Metric(
        "Held-out {component}, {series}", "", "Mean of the grade's component {component}, with {series} answers."),
    "judge/disagreement": Metric("Judge, asked twice", "share", "Samples on which two verdicts of the judge differ."),
    "judge/{figure}": Metric("Judge: {figure}", "share", "The judge's figure {figure}, by its last check on labels."),
    "judge/{grader}/{figure}": Metric("Judge of {grader}: {figure}", "share", "The same, of the grader of {grader}."),
    "eval/masked": Metric("Masked held-out samples", "samples", "Held-out answers without a score, or given up."),
})

ROLLOUTS = MetricGroup("Rollouts", (), {
    "completion/mean_tokens": Metric(
        "Mean answer", "tokens", "Mean length of the step's samples, with all their turns."),
    "completion/max_tokens": Metric("Longest answer", "tokens", "Length of the step's longest sample."),
    "completion/tokens": Metric("Sampled tokens", "tokens", "Tokens of all samples of the step."),
    "completion/truncated": Metric("Truncated answers", "share", "Samples that were cut off at the token limit."),
    "staleness/mean": Metric("Mean staleness", "versions",
        "Mean number of versions that the step's groups are behind the version in training."),
    "staleness/max": Metric("Largest staleness", "versions", "The same number for the step's oldest group."),
    "groups/expired": Metric("Expired groups", "groups",
        "Groups dropped so far because they were not ready in time or too stale to train on."),
    "gap/mean": Metric("Trainer-sampler gap", "nats a token",
        "Mean difference between the trainer's and the engine's log-probability of the same token."),
    "gap/max": Metric("Largest gap", "nats", "Largest such difference of a token."),
    "gap/probe_mean": Metric(
        "Gap on the probe", "nats a token",
        "The same mean on the probe, for the version served when the step is planned and the worst engine."),
    "gap/probe_max": Metric("Largest gap on the probe", "nats", "Largest such difference of a token of the probe."),
})

BUDGETS = MetricGroup("Rollout budgets", ("allocation",), {
    "rollouts/signal_share": Metric(
        "Groups with signal", "share", "Groups with samples of different rewards, of all groups with a graded sample."),
    "rollouts/group_mean": Metric("Mean group", "samples", "Mean number of samples of a group."),
    "rollouts/group_max": Metric("Largest group", "samples", "Number of samples of the step's largest group."),
    "value/used_share": Metric(
        "Predictions used", "share", "Groups whose predicted chance of success was reliable, so that it was used."),
    "value/predicted": Metric("Predicted success", "share", "Mean predicted chance of success of the step's groups."),
    "value/actual": Metric("Actual success", "share", "Mean reward of the same groups, scaled to 0 to 1."),
    "value/calibration_error": Metric(
        "Calibration error", "share",
        "Mean difference between predicted and actual success, over ten bins of predictions."),
    "value/auc": Metric(
        "Order of predictions", "share",
        "Pairs of a successful and a failed group that predictions order rightly."),
    "value/low_steps": Metric(
        "Steps without order", "steps", "Steps in a row whose predictions order less than 55 % of the pairs rightly."),
    "value/band/{band}/groups": Metric(
        "Groups expected at {band} %", "groups", "Groups whose chance of success was expected to be {band} %."),
    "value/band/{band}/rollouts": Metric(
        "Rollouts at {band} %", "samples", "Mean number of samples of the groups that were expected at {band} %."),
    "value/band/{band}/expected": Metric(
        "Expected at {band} %", "share", "Mean expected chance of success of the groups in the band {band} %."),
    "value/band/{band}/actual": Metric(
        "Actual at {band} %", "share", "Mean reward of the groups that were expected at {band} %, scaled to 0 to 1."),
    "allocation/unspent": Metric(
        "Unspent budget", "samples", "Samples of the budget that no group could take."),
    "allocation/failure": Metric("Failure rate", "share", "Mean failure of the last steps, by which values shift."),
    "allocation/tau": Metric("Saturation", "samples", "Samples times p (1 - p) that are worth 63 % of all."),
    "allocation/share/{tier}": Metric(
        "Samples of {tier} prompts", "share", "Share of the budget that went to prompts of the tier {tier}."),
    "allocation/exact": Metric("Optimum computed", "", "1 if the allocation is the optimum, 0 if it comes near it."),
    "allocation/{figure}": Metric("Allocation: {figure}", "", "The allocation's figure {figure}, mean over groups."),
})

SAMPLER = MetricGroup("Sampler", ("sampler",), {
    "sampler/chosen_share": Metric(
        "Tasks by the manifest", "share", "Groups with a task that a manifest drew; the rest explores."),
    "sampler/score": Metric("Worth of tasks", "", "Mean worth of the tasks that were drawn by the manifest."),
    "sampler/error_branches": Metric(
        "Error branches", "share", "Mean share of choices of these tasks that no successful rollout took."),
    "sampler/heterogeneity": Metric(
        "Different chains", "share", "Mean number of different chains of turns of these tasks, over their rollouts."),
    "sampler/pass_rate": Metric("Earlier pass rate", "share", "Mean pass rate of these tasks in the manifest."),
    "sampler/version": Metric("Manifest", "", "Version of the manifest: the step that it came with; 0 of another run."),
    "sampler/tasks": Metric("Curated tasks", "tasks", "Tasks of the manifest that comes with this step."),
    "sampler/usable": Metric(
        "Usable tasks", "tasks", "Tasks with both a success and a failure: only these can be drawn."),
})

FILTER = MetricGroup("Filter", ("filter",), {
    "filtered_groups": Metric("Filtered groups", "groups", "Groups that the filter left out of the step."),
    "flat_share": Metric("Groups without signal", "share", "Examined groups whose samples all have the same reward."),
    "length_share": Metric(
        "Groups outside the band", "share", "Groups with signal that were left out because of their length."),
    "keep_rate": Metric("Keep rate", "share", "Running share of groups that pass the filter."),
})

PROCESSING = MetricGroup("Reward processing", ("reward",), {
    "rejected_rewards": Metric("Rejected rewards", "samples", "Samples whose score is not a finite number."),
    "overlong_samples": Metric(
        "Overlong samples", "samples", "Samples whose reward was reduced because of their length."),
    "masked_samples": Metric(
        "Samples left out", "samples",
        "Samples that the step leaves out: without a reward, or cut off where the spec drops cut-off samples."),
    "rejected_rows": Metric(
        "Rejected samples", "samples", "Samples left out because a reward or log-probability is not a finite number."),
})

ADVANTAGE = MetricGroup("Advantage", ("advantage",), {
    "trajectories": Metric("Trajectories", "trajectories", "Samples for which the step estimates advantages."),
    "advantage/groups": Metric("Groups", "groups", "Groups within which samples are compared."),
    "advantage/zero_share": Metric(
        "Zero advantages", "share", "Trajectories whose advantages are all exactly 0, so that they teach nothing."),
    "advantage/zero_variance_groups": Metric(
        "Groups without variance", "groups", "Groups of several samples that all have the same reward."),
    "advantage/predicted_share": Metric(
        "Groups with a prediction", "share", "Groups whose baseline is made of a prediction and the rewards."),
    "advantage/accepted": Metric(
        "Predictions accepted", "share", "Predicted groups whose rewards do not contradict the prediction."),
    "advantage/mean_weight": Metric("Weight of the mean", "", "Mean weight of the rewards' mean in a fused baseline."),
    "advantage/prediction_distance": Metric(
        "Distance of predictions", "", "Mean distance between a predicted reward and the mean of the rewards."),
    "advantage/flat_with_signal": Metric(
        "Equal rewards with signal", "share", "Predicted groups of equal rewards whose advantages are not 0."),
    "advantage/k_mean": Metric("Samples of a group", "samples", "Mean number of samples that a group trains on."),
    "advantage/single_sample_groups": Metric("Groups of one", "groups", "Groups with only one valid sample."),
    "skipped_groups": Metric(
        "Skipped groups", "groups", "Groups that were not computed because none of their tokens has a gradient."),
    "skipped_trajectories": Metric(
        "Skipped trajectories", "trajectories",
        "Samples that were not computed because none of their tokens has a gradient."),
    "advantage/baseline": Metric(
        "Baseline", "", "Amount subtracted from each reward: the running mean of earlier rewards."),
    "advantage/weights_without_reward": Metric(
        "Weights without reward", "weights", "Weights in the spec for a reward that no sample has."),
    "advantage/single_anchor_fraction": Metric(
        "Situations seen once", "share",
        "Situations of a single turn, which has no other turn to compare with."),
    "advantage/outcome": Metric("Mean outcome", "", "Mean reward at the end of a trajectory."),
    "advantage/turn_reward": Metric(
        "Mean reward of a turn", "", "Mean reward of a turn before the end of its trajectory."),
    "advantage/rule/{rule}": Metric(
        "Turn rule: {rule}", "", "Mean reward of a turn by the rule {rule}, without its weight."),
    "advantage/w_turn": Metric(
        "Weight of the turn", "", "Weight of the turn's own advantage relative to the session's."),
    "advantage/conversion_alarm": Metric(
        "Conversion alarm", "", "1 if outcomes fell since the first step while the rewards of turns rose."),
    "advantage/session_abs": Metric(
        "Size of the session's part", "", "Mean size of the session's advantage of a token."),
    "advantage/turn_abs": Metric("Size of the turn's part", "", "Mean size of the turn's advantage of a token."),
    "advantage/mean_return": Metric("Mean return", "", "Mean reward that follows a token, before whitening."),
    "advantage/full_reward": Metric("Reward of the full track", "", "Mean reward of execution and format together."),
    "advantage/schema_reward": Metric("Reward of the schema track", "", "Mean reward of the proposed schemas."),
    "advantage/unproposed_fraction": Metric("Without a proposal", "share", "Samples that proposed no schema."),
    "advantage/dropped_readings": Metric("Dropped readings", "readings", "Readings of a memory without a reward."),
    "advantage/combined_reward": Metric("Combined reward", "", "Mean reward of a memory's readings, weighted by task."),
    "advantage/ndcg": Metric("Quality of the order", "", "Mean NDCG of the order of retrieved skills; 1 is the best."),
    "advantage/perfect_ranks": Metric("Perfect orders", "samples", "Samples with the best possible order of skills."),
    "advantage/rank_baseline": Metric(
        "Baseline of the order", "", "Amount subtracted from the reward of the order: its running mean."),
    "advantage/deliberate_groups": Metric(
        "Groups of deliberations", "groups", "Groups within which deliberations are compared."),
    "advantage/deliberate_zero_variance_groups": Metric(
        "Deliberations without variance", "groups", "Groups whose deliberations all have the same reward."),
    "advantage/deliberate_reward": Metric("Reward of deliberations", "", "Mean reward of a deliberation."),
    "advantage/attempt_groups": Metric("Groups of attempts", "groups", "Groups within which attempts are compared."),
    "advantage/attempt_zero_variance_groups": Metric(
        "Attempts without variance", "groups", "Groups whose attempts all have the same reward."),
    "advantage/attempt_reward": Metric("Reward of attempts", "", "Mean reward of an attempt."),
    "advantage/pairs": Metric("Pairs", "pairs", "Pairs of a preferred and another answer."),
    "advantage/unpaired": Metric("Answers without a pair", "samples", "Answers that are in no pair."),
    "advantage/pair_loss": Metric(
        "Loss of a pair", "nats", "Mean negative log-likelihood of the preference under the policy."),
    "advantage/pair_margin": Metric(
        "Margin of a pair", "", "Mean margin by which the policy favours the preferred answer."),
    "advantage/pair_accuracy": Metric(
        "Ordered pairs", "share", "Pairs in which the policy also favours the preferred answer."),
    "advantage/mean": Metric(
        "Mean advantage", "nats", "Mean difference between the log-probability of the teacher and of the policy."),
    "advantage/min": Metric("Smallest advantage", "nats", "Smallest such difference of a token."),
    "advantage/reinforced_fraction": Metric(
        "Reinforced tokens", "share",
        "Tokens that are reinforced. On the other tokens the policy imitates the teacher."),
    "advantage/reinforced_mean": Metric("Mean of the reinforced", "nats", "Mean advantage of the reinforced tokens."),
    "advantage/gap_min": Metric("Smallest teacher gap", "nats", "Smallest log-ratio of teacher to policy at a token."),
    "advantage/correct_fraction": Metric(
        "Correct trajectories", "share", "Samples with a right answer. The policy learns from itself on them."),
    "advantage/student_weight_max": Metric(
        "Largest own weight", "", "Largest weight of a trajectory with a right answer."),
    "advantage/teacher_weight_max": Metric(
        "Largest taught weight", "", "Largest weight of a trajectory with a wrong answer."),
    "advantage/effective_set_size": Metric(
        "Effective set", "trajectories",
        "Effective number of right, or of wrong, samples of a group after weighting."),
    "advantage/rejected_rows": Metric(
        "Samples left out", "samples", "Samples with a part of the reward that is not finite."),
    "advantage/missing_rewards": Metric(
        "Missing parts", "rewards", "Missing parts of rewards, which count as 0."),
    "advantage/smallest_eigenvalue": Metric(
        "Smallest eigenvalue", "",
        "Smallest eigenvalue of the rewards' covariance. Near 0, parts of the reward are redundant."),
    "advantage/negative_weights": Metric(
        "Negative weights", "weights", "Parts of the reward with a negative weight after decorrelation."),
    "advantage/z_rms_{part}": Metric("Spread of {part}", "", "Root mean square of the scores of {part}."),
    "advantage/degenerate_{part}": Metric(
        "Flat groups of {part}", "share", "Groups whose samples all have the same {part}."),
    "advantage/d_ref_{part}": Metric(
        "Reference range of {part}", "", "Range of {part} from which a group counts in full."),
    "advantage/effective_weight_{part}": Metric(
        "Weight of {part}", "", "Smallest weight of {part} after decorrelation."),
    "advantage/correlation_before_{pair}": Metric(
        "Correlation before, {pair}", "", "Correlation of these two parts of the reward before decorrelation."),
    "advantage/correlation_after_{pair}": Metric(
        "Correlation after, {pair}", "", "Correlation of these two parts of the reward after decorrelation."),
    "advantage/correlation_advantage_{part}": Metric(
        "Correlation with {part}", "", "Correlation of the advantage with {part}."),
})

MODULATION = MetricGroup("Modulation", ("modulation",), {
    "modulation/compensation_mean": Metric(
        "Mean gain", "", "Mean factor by which confident tokens of good samples gain."),
    "modulation/stabilisation_mean": Metric(
        "Mean damping", "", "Mean factor that damps tokens which would change the entropy much."),
    "modulation/swing_mean": Metric("Mean swing", "nats", "Mean change of the entropy by a token."),
    "modulation/swing_max": Metric("Largest swing", "nats", "Largest such value of a token."),
    "modulation/gate": Metric("Mean gate", "share", "Mean opening of the gate by the teacher's endorsement."),
    "modulation/share": Metric(
        "Teacher's share", "share", "Share of the advantage's factor that the teacher decides at this step."),
    "modulation/factor": Metric("Mean factor", "", "Mean factor on an advantage; 1 leaves it as estimated."),
    "modulation/factor_max": Metric("Largest factor", "", "Largest factor on an advantage; 1 leaves it as estimated."),
    "modulation/{kind}_pairs": Metric("Compared {kind} pairs", "pairs", "Pairs of the kind {kind} in an update."),
    "modulation/{kind}_loss": Metric("Loss of {kind} pairs", "", "Mean -log sigmoid(h) over pairs of the kind {kind}."),
    "modulation/{kind}_margin": Metric(
        "Margin of {kind} pairs", "", "Mean h: beta times how far the policy moved towards the winner, not the loser."),
    "modulation/{kind}_accuracy": Metric(
        "Separated {kind} pairs", "share", "Pairs of the kind {kind} whose margin is above 0."),
    "modulation/{kind}_winner_logp": Metric(
        "Winners of {kind} pairs", "nats a token", "Mean log-probability of the tokens of their winners."),
})

CORRECTION = MetricGroup("Correction", ("correction",), {
    "correction/weight_mean": Metric(
        "Mean weight", "", "Mean importance weight of a token; 1 if the policy in training sampled it."),
    "correction/weight_max": Metric("Largest weight", "", "Largest such value of a token."),
    "correction/truncated_fraction": Metric(
        "Truncated weights", "share", "Tokens whose weight was reduced to the cap."),
    "correction/popped_fraction": Metric(
        "Popped tokens", "share", "Tokens left out because their ratio is outside the trusted range."),
    "correction/masked_fraction": Metric(
        "Masked tokens", "share", "Tokens left out because their whole trajectory drifted too far."),
})

LOSS = MetricGroup("Policy loss", ("loss", "aggregation"), {
    "loss": Metric("Loss", "", "Sum of all terms. Its gradient trains the policy; its value means little by itself."),
    "entropy": Metric("Entropy", "nats a token", "Mean entropy of the policy's distribution over the next token."),
    "loss/term": Metric("Policy loss", "", "This term's part of the step's loss, with the weights of tokens."),
    "loss/ratio_mean": Metric(
        "Mean ratio", "", "Mean ratio of a token's probability now to its probability before the step."),
    "loss/ratio_p05": Metric("Ratio, 5th percentile", "", "One token in 20 has a smaller ratio of new to old policy."),
    "loss/ratio_p50": Metric("Ratio, median", "", "Half of all tokens have a smaller ratio of new to old policy."),
    "loss/ratio_p95": Metric("Ratio, 95th percentile", "", "One token in 20 has a larger ratio of new to old policy."),
    "loss/ratio_max": Metric("Largest ratio", "", "Largest ratio of new to old policy at a token."),
    "loss/clip_fraction": Metric(
        "Clipped tokens", "share", "Tokens whose gradient is stopped because their ratio moved enough."),
    "loss/bounded_fraction": Metric("Bounded tokens", "share", "Tokens whose weight was moved to a bound."),
    "loss/gate_mean": Metric("Mean gate", "share", "Mean share of its gradient that a token keeps."),
    "loss/gate_positive": Metric("Gate of rising tokens", "share", "Mean gate of good tokens that became likelier."),
    "loss/gate_negative": Metric("Gate of falling tokens", "share", "Mean gate of bad tokens that became less likely."),
    "loss/damped_fraction": Metric("Damped tokens", "share", "Tokens that keep less than half of their gradient."),
    "loss/width_mean": Metric("Mean width", "", "Mean width of the trust region around a ratio of 1."),
    "loss/widest_fraction": Metric(
        "Widest regions", "share", "Tokens whose trust region has the largest allowed width."),
    "loss/teacher_distance": Metric(
        "Distance to the teacher", "nats a token", "Mean distance between the policy and the teacher that it follows."),
    "loss/stopped_fraction": Metric(
        "Stopped tokens", "share", "Tokens too far from the teacher: their distance has no gradient."),
    "span/{name}": Metric("Tokens of {name}", "share", "Trained tokens inside spans with the name {name}."),
    "trained_tokens": Metric("Trained tokens", "tokens", "Tokens that enter the loss."),
    "trained/mask_share": Metric(
        "Untrained tokens", "share", "Tokens of answers that do not train, for example of masked turns."),
})

REGULARIZERS = MetricGroup("Regularizers", ("regularizers",), {
    "regularizers/{name}.{place}/term": Metric(
        "Regularizer's loss ({name})", "", "This term's part of the step's loss, with its coefficient."),
    "regularizers/kl.{place}/mean": Metric(
        "Distance to the reference", "nats a token",
        "Mean estimate of the KL divergence between the policy and its reference."),
    "regularizers/entropy.{place}/mean": Metric(
        "Rewarded entropy", "nats a token", "Mean entropy that the bonus rewards, without its coefficient."),
    "regularizers/local_divergence.{place}/mean": Metric(
        "Distance to the teacher", "nats a token",
        "Mean divergence on the teacher's likeliest tokens, times its coefficient."),
    "regularizers/local_divergence.{place}/imitated_fraction": Metric(
        "Imitated tokens", "share", "Tokens on which the policy imitates the teacher."),
    "regularizers/context_distillation.{place}/mean": Metric(
        "Distance to the informed policy", "nats a token",
        "Mean divergence from the policy with the privileged text, times its coefficient."),
    "regularizers/context_distillation.{place}/imitated_fraction": Metric(
        "Imitated tokens", "share", "Tokens that the policy with the privileged text scored."),
    "regularizers/sdar.{place}/gate": Metric("Mean gate", "share", "Mean opening of the gate by endorsements."),
    "regularizers/sdar.{place}/endorsed_fraction": Metric(
        "Endorsed tokens", "share", "Tokens whose gate is more than half open."),
    "regularizers/sdar.{place}/gap": Metric("Teacher gap", "nats a token", "Mean log-ratio of teacher to policy."),
    "regularizers/sdar.{place}/known_fraction": Metric(
        "Judged tokens", "share", "Tokens that the teacher scored."),
})

CRITIC = MetricGroup("Critic", (), {
    "critic/loss": Metric("Critic's loss", "", "Mean clipped squared error of the critic's values, halved."),
    "critic/return_mean": Metric(
        "Mean return", "", "Mean reward that follows a token, which the critic learns to predict."),
    "critic/value_mean": Metric("Mean value", "", "Mean reward that the critic predicts after a token."),
    "critic/explained_variance": Metric(
        "Explained variance", "share",
        "Share of the returns' variance that the critic predicts; below 0 it is worse than a constant."),
    "critic/clip_fraction": Metric(
        "Held values", "share", "Tokens whose gradient is stopped because their value moved enough."),
    "critic/grad_norm": Metric("Critic's gradient norm", "", "Norm of the critic's gradient before clipping."),
})

OPTIMIZER = MetricGroup("Optimizer and schedule", ("schedule", "batch_size"), {
    "batch/prompts": Metric("Groups asked for", "groups", "Groups that the step needs by the run's batch size."),
    "lr": Metric("Learning rate", "", "Learning rate of the step."),
    "grad_norm": Metric("Gradient norm", "", "Norm of the gradient before clipping."),
})

VERIFICATION = MetricGroup("Verification", ("builder",), {
    "verify/verdict_accuracy": Metric("Right verdicts", "share", "Right verdicts on the run's own answers."),
    "verify/unparsable_verdicts": Metric("Unreadable verdicts", "share", "Answers of the judge without a verdict."),
    "verify/items": Metric("Answers to judge", "items", "Answers of the batch that were selected for judging."),
    "verify/buffered_items": Metric("Waiting answers", "items", "Answers that wait to be judged in a later step."),
    "verify/duplicate_share": Metric("Repeated answers", "share", "Answers to judge that occur more than once."),
    "verify/mostly_duplicates": Metric(
        "Mostly repeated", "", "1 if so many answers are repeated that judging teaches little."),
    "verify/{metric}": Metric("{title}", "{unit}", "Of verification steps: {meaning}"),
})

PAIRS = MetricGroup("Pairs of samples", ("builder",), {
    "pairs/episode": Metric("Episode pairs", "pairs", "Pairs of a success and a failure of one task."),
    "pairs/step": Metric("Step pairs", "pairs", "Pairs of continuations of one turn: with and without a skill."),
    "pairs/step_uses": Metric("Uses of a step pair", "", "How often the step uses each of its step pairs."),
    "pairs/invoke_share": Metric(
        "Skill preferred", "share", "Step pairs, before they are balanced, whose winner called the skill."),
    "pairs/discarded/{reason}": Metric(
        "Branches left out: {reason}", "branches", "Branched turns that give no pair, for this reason."),
    "skills/success": Metric("Successful episodes", "share", "Episodes of the step that succeeded, without branches."),
    "skills/steps": Metric("Steps of an episode", "steps", "Mean steps of the environment in an episode."),
    "skills/calls": Metric("Calls of skills", "calls", "Mean calls of skills in an episode."),
    "skills/execution_precision": Metric(
        "Execution precision", "share", "Calls of skills that completed; it says nothing of whether they were needed."),
})

COLLECTIONS = MetricGroup("Collections", (), {
    "collection/{name}/items": Metric("Items for {name}", "items", "Items that the step's samples added to {name}."),
})

SOURCES = MetricGroup("Sources of tasks", (), {
    "source/{source}/groups": Metric("Groups, {source}", "groups", "Groups of the step whose task is of {source}."),
    "source/{source}/signal_share": Metric(
        "Share of groups with signal, {source}", "share",
        "Share of {source} among the step's groups with samples of different rewards."),
    "source/{source}/reward/pass_rate": Metric(
        "Pass rate, {source}", "share", "Samples of {source} with the largest score of their grader."),
    "source/{source}/{metric}": Metric("{title}, {source}", "{unit}", "Of {source}: {meaning}"),
})

WORK = MetricGroup("Time and storage", (), {
    "trainer/idle_s": Metric("Trainer idle", "s", "Time without work of the trainer before the step."),
    "engine/idle_s": Metric(
        "Engines idle", "s", "Mean time since the previous plan in which an engine did not compute for the model."),
    "trainer/forward_backward_s": Metric(
        "Forward and backward", "s", "Time to read the step's samples and compute its gradient."),
    "trainer/optim_step_s": Metric("Optimizer step", "s", "Time to clip and apply the gradient."),
    "trainer/save_s": Metric("Save", "s", "Time to number the version. Its weights are stored afterwards."),
    "trainer/{operation}_s": Metric("{operation}", "s", "Time of the trainer's operation {operation}."),
    "storage/read_s": Metric(
        "Reading", "s", "Time to read the step's plan and samples, a part of forward and backward."),
    "forward_tokens": Metric(
        "Computed tokens", "tokens",
        "Tokens that the model computed. A prefix that samples of a group share counts once."),
})

OTHER = MetricGroup("Other", (), {})
"""The group of the metrics that are not in this table."""

GROUPS: tuple[MetricGroup, ...] = (
    REWARD, ROLLOUTS, BUDGETS, SAMPLER, FILTER, PROCESSING, ADVANTAGE, MODULATION, CORRECTION, LOSS, REGULARIZERS,
    CRITIC, OPTIMIZER, VERIFICATION, PAIRS, COLLECTIONS, SOURCES, WORK,
)
"""The groups in the order of a step."""
