"""The real CLIs against a stand-in of their service on this machine; left out where none is installed."""
