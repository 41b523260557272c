"""Runs a test on the nodes of a Ray cluster: ``python -m loadline.ray``, started by the conductor.

It places one actor per node, starts ``loadline`` there, and forwards bytes unread between the nodes
and standard input and output. Assigning work, starting the load and handling lost nodes is up to
the conductor.
"""
