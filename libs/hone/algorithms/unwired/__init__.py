"""Functions of methods that no run calls yet. Tests and `benchmarks.methods` use them; a process never imports them.

Each module waits for the part of a run that will call it:

    deliberation       HeavySkill: a filter that chooses queries by their attempts, and a reward of their width
    experience_pool    experience internalization: a builder that distils a pool of lessons into the policy
    internalization    SIRI: a builder that trains actions without the skill text under which they were sampled
    noise_scale        batch-size scheduling: gradient norms of a step's parts, which no trainer measures
    scaling_law        batch-size scheduling: a planner that reads the law itself; `hone plan` fits pilot runs
    skill_text         SIRI: a builder that has the policy write skills and tests them
    verdicts           self-verify with votes: rewards of several verdicts on one answer

`checks/reachable.py` refuses a module here that a process imports, and a module elsewhere that none imports.
"""
