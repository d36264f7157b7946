"""Facts of an unmodified PyTorch program for train-step; pilot-trainer(7) has the lines, gate judges them."""
