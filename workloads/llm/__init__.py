"""The parts of llm_server.py. Only engine.py and models.py need PyTorch."""
