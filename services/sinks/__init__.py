"""Copies run metrics to TensorBoard, MLflow or Weights & Biases. Each point arrives once, even if processes die."""
