"""The methods once more, in float64 numpy over padded [B, L] arrays with masks, as their papers write them.

Written from the specification alone and importing nothing of hone, so that an agreement means something.
"""
