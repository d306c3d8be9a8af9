"""The parts of llm_server.py. Only engine.py needs PyTorch."""
