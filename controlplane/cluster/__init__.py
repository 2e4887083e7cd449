"""The processes of one installation, on any number of machines: which of them leads where one may act."""
