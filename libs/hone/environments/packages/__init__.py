"""Environment packages: tables, tools and tasks of a domain, with what proves that each task can be done."""
