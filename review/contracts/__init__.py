"""The JSON documents of version 1, as structs: what commands print and what they take in."""
