"""What a good client does besides sending requests. Pure Python, and knows no way to send one.

`make sdk` copies this folder into the generated client, so that both behave alike.
"""
