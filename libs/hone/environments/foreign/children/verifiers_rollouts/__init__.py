"""The program that plays rollouts of one environment of `verifiers`, in the interpreter where that package is.

A rollout is the package's own: its model is a client here, which writes what it is asked as a line of JSON, and reads
the answer. `classic` plays versions before 0.4, `tasksets` those from 0.4 on, `serving` is the same for both.
"""
