"""What runs in the sandbox beside the code of a domain. Its files are copied there: pydantic and the standard library.
"""
