"""What `make compose-test` does to a deployment that is up (deploy/test.sh)."""
