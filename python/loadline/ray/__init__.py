"""A run on the nodes of a Ray cluster, as a program (``python -m loadline.ray``) that the conductor starts and speaks with over its
standard input and output. It places one actor per node, starts ``loadline`` there and passes bytes on, which it does not look into:
who does what, when the load begins and what becomes of a lost node is the conductor's."""
