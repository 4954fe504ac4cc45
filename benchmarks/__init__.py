"""What the library costs (`guards`) and what published figures become with it (`claims`).

Everything here is run by hand and stores what it measured in `results`, with the machine and the commit.
"""
