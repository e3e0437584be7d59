"""What Hone is compared with, each in a process of its own."""
