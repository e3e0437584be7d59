"""Code that runs in the sandbox beside a domain's code. Its files are copied there: pydantic, the standard library.
"""
