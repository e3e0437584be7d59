"""Programs for the interpreters of other packages. They import nothing of Hone: this folder is on their path."""
