"""Who evaluates states for the actors: themselves, or inference workers that batch requests.

In reading order:

- ``weights``: the weights that the learner publishes, in shared memory
- ``metrics``: counters of the evaluations
- ``inline``: an actor evaluates its own states
- ``bell``: wakes a process that sleeps
- ``request_slots``: shared memory through which actors and inference workers exchange states
- ``client``: the actor's side of a request
- ``worker``: the inference worker: answers requests in batches
"""
