"""Copies run metrics to TensorBoard, MLflow or Weights & Biases, each point once, whatever dies meanwhile."""
