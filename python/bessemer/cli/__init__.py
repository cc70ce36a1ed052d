"""The command line: ``bessemer generate | chat | bench | inspect | plan``."""
