"""The weight of pending expressions: what they cost while they are not evaluated.

A node weighs 1. Memory that a node keeps alive weighs as much as its share of `WEIGHT_OF_ALL`, and at least
`LEAST_OF_MEMORY`: an expression of hundreds of memories is cut into many kernels in any case.
"""

WEIGHT_LIMIT = 1 << 12  # a heavier graph is evaluated rather than grown
WEIGHT_OF_ALL = 2 * WEIGHT_LIMIT  # all of a device's memory: pending expressions keep at most half of it alive
LEAST_OF_MEMORY = 32  # so pending expressions read at most 128 memories, which one kernel cannot

VIEW_WEIGHT = 12  # operations per element of a value, for all of its views: more take longer than a store and loads
MOST_VIEWS = 12  # of one pending value
VIEW_READS = 2  # arrays of full size, so that views of them take no more bytes than those of a stored value
