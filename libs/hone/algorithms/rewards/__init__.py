"""Rewards (S3): shape the task rewards. Samples whose raw reward is not finite are masked and counted."""
