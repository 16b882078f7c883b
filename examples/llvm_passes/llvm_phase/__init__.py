"""Choosing the order of LLVM's passes, with the parts of ``aerl_trainer``.

In reading order:

- ``autophase``: 56 counts that describe a module, from its text
- ``backends``, ``worker``: LLVM, and the process that it runs in
- ``compiler``: LLVM as a function of a module and a pass, with a memory
- ``passes``, ``programs``: the actions; the modules
- ``tokens``: textual IR as numbers
- ``rewards``, ``env``: what a pass is worth; ``LLVMPhase-v0``
- ``tasks``: programs with what −Oz makes of them, returns of sequences of passes
- ``search``: random and greedy search
- ``policy``, ``rollouts``: the transformer; sequences sampled from it
- ``settings``, ``training``, ``evaluation``, ``pictures``: a whole run; its table and picture
"""
