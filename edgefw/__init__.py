"""An edge-device network emulator for decentralized online learning under delayed feedback."""
